#include "base/files.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace cudaagent {

bool Fd::close() {
  const int fd = std::exchange(fd_, -1);
  return fd < 0 || ::close(fd) == 0;
}

TempFolder::TempFolder() {
  std::error_code error;
  std::string root = std::filesystem::temp_directory_path(error).string();
  if (error) root = "/tmp";
  std::string pattern = root + "/cudaagent-XXXXXX";
  if (!mkdtemp(pattern.data())) {
    throw UserError("cannot make a folder in " + root + " (" + strerror(errno) +
                    "); set TMPDIR to a folder you can write");
  }
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  // The folder's own name is random: a sentence that is said once must not differ from call to call.
  if (!file) {
    throw UserError("cannot write " + std::filesystem::path(path).filename().string() +
                    " among the temporary files; free some space there or set TMPDIR to another folder");
  }
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InternalError("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace cudaagent
