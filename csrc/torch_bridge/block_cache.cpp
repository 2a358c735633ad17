#include "torch_bridge/block_cache.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace cudaagent::bridge {

namespace {

// Below this malloc serves from a heap that stays mapped.
constexpr std::size_t smallest = 128 << 10;
constexpr std::size_t page = 4096;

// A kept block serves a request that fills most of it.
bool serves(std::size_t block, std::size_t request) { return block >= request && block - request <= block / 8; }

std::size_t share_of_memory() {
  const auto pages = static_cast<std::size_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  return std::min(std::size_t{1} << 30, pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / 16);
}

}  // namespace

// Never destroyed: tensors outlive the end of main().
BlockCache& BlockCache::get() {
  static auto* cache = new BlockCache(share_of_memory());
  return *cache;
}

at::DataPtr BlockCache::allocate(std::size_t bytes) {
  if (bytes < smallest) return c10::GetCPUAllocator()->allocate(bytes);
  Block* block = take(bytes);
  if (!block) {
    const std::size_t rounded = (bytes + page - 1) / page * page;
    auto fresh = std::make_unique<Block>();
    try {
      fresh->data = c10::GetCPUAllocator()->allocate(rounded);
    } catch (const c10::Error&) {
      drop_all();
      fresh->data = c10::GetCPUAllocator()->allocate(rounded);
    }
    fresh->bytes = rounded;
    block = fresh.release();
  }
  return {block->data.get(), block, &give_back, c10::Device(c10::DeviceType::CPU)};
}

void BlockCache::give_back(void* block) { get().keep(static_cast<Block*>(block)); }

BlockCache::Block* BlockCache::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto best = kept_.end();
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    if (serves((*it)->bytes, bytes) && (best == kept_.end() || (*it)->bytes < (*best)->bytes)) best = it;
  }
  if (best == kept_.end()) return nullptr;
  Block* block = *best;
  kept_.erase(best);
  kept_bytes_ -= block->bytes;
  return block;
}

void BlockCache::keep(Block* block) {
  std::list<Block*> evicted;
  {
    const std::lock_guard lock(mutex_);
    kept_.push_front(block);
    kept_bytes_ += block->bytes;
    while (kept_bytes_ > most_kept_) {
      kept_bytes_ -= kept_.back()->bytes;
      evicted.splice(evicted.end(), kept_, std::prev(kept_.end()));
    }
  }
  for (Block* old : evicted) delete old;
}

void BlockCache::drop_all() {
  std::list<Block*> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(kept_);
    kept_bytes_ = 0;
  }
  for (Block* block : all) delete block;
}

}  // namespace cudaagent::bridge
