// The process's optimized programs by handle.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "pipeline.h"
#include "runtime/shared_cell.h"

namespace cudaagent::bridge {

struct LoadedProgram {
  std::unique_ptr<runtime::Program> program;
  std::string report;
  Device device;  ///< of the graph: the CUDA device it runs on, else the CPU
  runtime::SharedCell<const std::vector<Tensor>> bound;
};

class Programs {
 public:
  static Programs& get();

  std::int64_t add(std::shared_ptr<LoadedProgram> program);
  /// Throws UserError for a handle that is not there. The program outlives its release while somebody runs it.
  std::shared_ptr<LoadedProgram> find(std::int64_t handle) const;
  void release(std::int64_t handle);

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::int64_t, std::shared_ptr<LoadedProgram>> programs_;
  std::int64_t next_ = 1;
};

}  // namespace cudaagent::bridge
