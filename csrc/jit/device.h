// What the spine asks of a CUDA device, answered through the driver.
#pragma once

#include <string>

namespace cudaagent::jit {

/// "sm_90a" for 9.x and above with architecture-specific features, else "sm_86". The newest common one, "sm_90a",
/// without a driver, so that a machine with no GPU can still compile.
std::string device_arch(int ordinal);
/// Streaming multiprocessors; 132 without a driver.
int device_units(int ordinal);
/// Name, compute capability and driver version: a proof holds for one of these.
std::string device_description(int ordinal);
/// Waits for a CUstream; throws InternalError when the work on it failed.
void synchronize(void* stream);

}  // namespace cudaagent::jit
