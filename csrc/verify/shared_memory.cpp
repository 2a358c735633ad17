#include "verify/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace cudaagent::verify {

SharedMemory::SharedMemory() : fd_(memfd_create("cudaagent-judge", MFD_CLOEXEC)) {
  if (fd_ < 0) {
    throw UserError(std::string("no shared memory for the verifier (") + strerror(errno) +
                    "); raise `ulimit -n` or close files");
  }
}

SharedMemory::~SharedMemory() {
  if (data_) munmap(data_, static_cast<std::size_t>(bytes_));
  close(fd_);
}

void SharedMemory::reserve(std::int64_t bytes) {
  if (bytes <= bytes_) return;
  const int error = posix_fallocate(fd_, 0, bytes);
  void* mapped =
      error ? MAP_FAILED : mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (mapped == MAP_FAILED) {
    throw UserError("the verifier needs " + std::to_string(bytes >> 20) +
                    " MiB of memory and got none; free some, or optimize with smaller example inputs");
  }
  if (data_) munmap(data_, static_cast<std::size_t>(bytes_));
  data_ = static_cast<std::byte*>(mapped);
  bytes_ = bytes;
}

}  // namespace cudaagent::verify
