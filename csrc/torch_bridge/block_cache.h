// CPU memory that is used again. malloc gives blocks past its mapping threshold (32 MiB at most) back to the system
// when they are freed, so each call would fault every page of its arena and its outputs in anew: an order of magnitude
// more than writing them.
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>
#include <list>
#include <mutex>

namespace cudaagent::bridge {

class BlockCache {
 public:
  /// The one of the process. It keeps at most a sixteenth of the machine's memory, and never more than 1 GiB.
  static BlockCache& get();

  /// Uninitialised memory that returns here when its last tensor is gone.
  at::DataPtr allocate(std::size_t bytes);

 private:
  struct Block {
    at::DataPtr data;
    std::size_t bytes = 0;
  };

  explicit BlockCache(std::size_t most_kept) : most_kept_(most_kept) {}
  static void give_back(void* block);
  Block* take(std::size_t bytes);
  void keep(Block* block);
  void drop_all();

  const std::size_t most_kept_;
  std::mutex mutex_;
  std::list<Block*> kept_;  // the most recently used first
  std::size_t kept_bytes_ = 0;
};

}  // namespace cudaagent::bridge
