// A private folder (mode 0700) under the system's temporary one, removed with all it holds.
#pragma once

#include <string>

namespace cudaagent::jit {

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

}  // namespace cudaagent::jit
