#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "cache/entry_file.h"

namespace cudaagent::cache {
namespace {

bool write_all(int fd, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    ssize_t count = write(fd, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

/// Each missing folder of the path, readable by this user alone.
bool make_private_folders(const std::filesystem::path& folder) {
  struct stat info;
  if (stat(folder.c_str(), &info) == 0) return S_ISDIR(info.st_mode) || (errno = ENOTDIR, false);
  if (folder.has_parent_path() && folder.parent_path() != folder && !make_private_folders(folder.parent_path())) {
    return false;
  }
  return mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

}  // namespace

std::variant<std::string, Damage> read_entry_file(const std::string& path, Trust trust, std::size_t limit) {
  bool is_private = trust == Trust::private_;
  // O_NONBLOCK: opening a pipe someone left here must not hang.
  Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (is_private ? O_NOFOLLOW : 0)));
  if (file.get() < 0) return Damage{errno == ELOOP ? "it is a symbolic link" : strerror(errno)};
  struct stat info;
  if (fstat(file.get(), &info) != 0) return Damage{strerror(errno)};
  if (!S_ISREG(info.st_mode)) return Damage{"it is not a plain file"};
  if (is_private && info.st_uid != geteuid()) return Damage{"it belongs to another user"};
  if (is_private && (info.st_mode & (S_IWGRP | S_IWOTH))) return Damage{"others may write it"};

  if (static_cast<std::size_t>(info.st_size) > whole_file) return Damage{"it is too large"};

  std::size_t size = std::min(limit, static_cast<std::size_t>(info.st_size));
  std::string bytes(size, '\0');
  for (std::size_t done = 0; done < size;) {
    ssize_t count = read(file.get(), bytes.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Damage{strerror(errno)};
    if (count == 0) return Damage{"it was cut off while it was read"};
    done += static_cast<std::size_t>(count);
  }
  return bytes;
}

std::string replace_file(const std::string& path, const std::string& bytes) {
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!make_private_folders(folder)) return strerror(errno);
  std::string temporary = (folder / (std::string(temporary_prefix) + "XXXXXX")).string();
  Fd file(mkostemp(temporary.data(), O_CLOEXEC));  // mode 0600
  if (file.get() < 0) return strerror(errno);
  bool written = write_all(file.get(), bytes) && fsync(file.get()) == 0 && file.close() &&
                 rename(temporary.c_str(), path.c_str()) == 0;
  if (written) return "";
  std::string reason = strerror(errno);
  unlink(temporary.c_str());
  return reason;
}

}  // namespace cudaagent::cache
