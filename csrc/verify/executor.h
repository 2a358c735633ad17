// The child's side: loads the kernels of one claim and runs them over the shared memory. It judges nothing.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "jit/driver_handles.h"
#include "jit/jit.h"

namespace cudaagent::verify {

class Executor {
 public:
  /// `fd`: the memory shared with the parent. Throws UserError when the device cannot be opened.
  Executor(int fd, const Device& device);
  ~Executor();

  /// `steps`: [{"source", "arch", "image": path}]. Throws InternalError when one does not load.
  void load(const Json& steps);
  /// Runs every launch over the first `bytes` of the shared memory; `offsets` are the launches' arguments.
  /// Throws InternalError when the device reports an error.
  void run(std::int64_t bytes, const std::vector<std::vector<std::int64_t>>& offsets);

 private:
  struct LoadedLaunch {
    codegen::Launch launch;
    void* function = nullptr;
  };
  void map(std::int64_t bytes);
  void run_cuda(std::int64_t bytes, const std::vector<std::vector<std::int64_t>>& offsets);

  int fd_;
  Device device_;
  std::byte* memory_ = nullptr;
  std::int64_t mapped_ = 0;
  std::unique_ptr<jit::PrimaryContext> context_;
  std::unique_ptr<jit::ScopedContext> current_;
  jit::DeviceMemory before_;  ///< memory of the run before, kept so that the next one gets another address
  std::vector<std::unique_ptr<jit::Module>> modules_;
  std::vector<LoadedLaunch> launches_;
};

}  // namespace cudaagent::verify
