// A shared pointer that some threads replace while others copy it. std::atomic<std::shared_ptr> is the same thing, but
// in libstdc++ 12 a load releases its lock with relaxed order, and libc++ lacks it.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace cudaagent::runtime {

template <class T>
class SharedCell {
 public:
  std::shared_ptr<T> load() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  void store(std::shared_ptr<T> value) {
    const std::lock_guard lock(mutex_);
    value_.swap(value);  // the old one is destroyed with the argument, outside the lock
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<T> value_;
};

}  // namespace cudaagent::runtime
