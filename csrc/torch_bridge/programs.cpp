#include "torch_bridge/programs.h"

#include <mutex>

namespace cudaagent::bridge {

// Never destroyed: at exit the libraries that its modules need may be gone already.
Programs& Programs::get() {
  static auto* programs = new Programs();
  return *programs;
}

std::int64_t Programs::add(std::shared_ptr<LoadedProgram> program) {
  const std::unique_lock lock(mutex_);
  programs_.emplace(next_, std::move(program));
  return next_++;
}

std::shared_ptr<LoadedProgram> Programs::find(std::int64_t handle) const {
  const std::shared_lock lock(mutex_);
  const auto it = programs_.find(handle);
  if (it == programs_.end()) {
    throw UserError("program " + std::to_string(handle) +
                    " is not loaded; it was released, or made in another process");
  }
  return it->second;
}

void Programs::release(std::int64_t handle) {
  std::shared_ptr<LoadedProgram> last;  // destroyed outside the lock
  const std::unique_lock lock(mutex_);
  const auto it = programs_.find(handle);
  if (it == programs_.end()) return;
  last = std::move(it->second);
  programs_.erase(it);
}

}  // namespace cudaagent::bridge
