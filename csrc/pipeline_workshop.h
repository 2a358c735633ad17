// For whom and with what a walk makes kernels: decided once, then carried through the rooms.
#pragma once

#include <string>

#include "jit/jit.h"
#include "schedule/schedule.h"

namespace cudaagent {

Device device_of(const ir::Graph& graph);  ///< of its first CUDA tensor; the CPU when it has none

struct Workshop {
  Workshop(const Device& device, const Options& options);

  Device device;
  const Options& options;
  codegen::Target target;
  std::string toolchain;  ///< jit::toolchain_key: it reads and hashes every header of the prelude

  schedule::Machine machine() const;
  /// Card and driver, or the host's processor: a verdict is proved again when it changes.
  std::string proving_ground() const;
};

}  // namespace cudaagent
