// Descriptors and folders with an owner, and whole files at once.
#pragma once

#include <string>

namespace cudaagent {

/// Closes the descriptor it holds; -1 is none.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { close(); }

  int get() const { return fd_; }
  /// False when the system reports an error only now, as a network file system does of a full disk.
  bool close();

 private:
  int fd_;
};

/// A private folder (mode 0700) under the system's temporary one, removed with all it holds.
class TempFolder {
 public:
  TempFolder();  ///< throws UserError when none can be made
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Throws UserError (disk full) when the bytes cannot be written.
void write_file(const std::string& path, const std::string& bytes);
/// Throws InternalError when the file cannot be read.
std::string read_file(const std::string& path);

}  // namespace cudaagent
