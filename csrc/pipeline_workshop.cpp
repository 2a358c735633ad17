#include "pipeline_workshop.h"

#include <algorithm>
#include <thread>

#include "jit/device.h"

namespace cudaagent {

namespace {

codegen::Target target_of(const Device& device, const Options& options) {
  codegen::Target target;
  if (device.type == DeviceType::cuda) {
    target.language = codegen::Language::cuda;
    target.arch = !options.cuda_arch.empty() ? options.cuda_arch : jit::device_arch(device.index);
    target.units = jit::device_units(device.index);
  } else {
    target.language = codegen::Language::host;
    target.arch = "native";
    target.units = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }
  return target;
}

}  // namespace

Device device_of(const ir::Graph& graph) {
  for (const ir::Value& value : graph.values) {
    if (value.type.device.type == DeviceType::cuda) return value.type.device;
  }
  return {};
}

Workshop::Workshop(const Device& device_, const Options& options_)
    : device(device_),
      options(options_),
      target(target_of(device_, options_)),
      toolchain(jit::toolchain_key(target, options_)) {}

schedule::Machine Workshop::machine() const {
  schedule::Machine machine;
  machine.device = device.type;
  machine.units = target.units;
  // One block's shared memory; of a core, half of a common second-level cache.
  machine.persistent_row_bytes = machine.device == DeviceType::cuda ? target.shared_bytes() : 1 << 20;
  return machine;
}

std::string Workshop::proving_ground() const {
  return device.type == DeviceType::cuda ? jit::device_description(device.index) : "host " + toolchain;
}

}  // namespace cudaagent
