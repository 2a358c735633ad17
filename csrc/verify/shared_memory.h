// Anonymous memory that a child process can map: a memfd, so no folder and no disk is involved.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudaagent::verify {

class SharedMemory {
 public:
  SharedMemory();  ///< throws UserError when the system gives none
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Grows to at least `bytes`, all reserved; throws UserError when there is not that much.
  void reserve(std::int64_t bytes);
  std::byte* data() const { return data_; }
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace cudaagent::verify
