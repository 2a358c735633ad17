// Public header of the room `jit`: source text becomes a binary, and a binary becomes something callable.
// NVRTC and libcuda are opened with dlopen; a machine without them can still compile for and run on the host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/codegen.h"

namespace cudaagent::jit {

/// What the compiler said about one kernel.
struct Resources {
  std::string kernel;
  int registers = 0;
  int spill_bytes = 0;
  int stack_bytes = 0;
  int shared_bytes = 0;  ///< static
};

/// A compiled source: a cubin, or a shared object. Plain data.
struct Binary {
  codegen::Language language = codegen::Language::host;
  std::string arch;
  std::string image;  ///< the bytes
  std::vector<Resources> resources;
  std::string log;
  double seconds = 0;
};

/// The key of everything outside the source that decides the binary: compiler version, flags, prelude text.
std::string toolchain_key(const codegen::Target& target, const Options& options);

/// Compiles. A compiler's refusal is a Rejection that carries its log and the source;
/// a missing compiler is a UserError that names what to install.
Outcome<Binary> compile(const codegen::Source& source, const codegen::Target& target, const Options& options);

/// Several at once: in `jobs` threads, each of which waits for one g++ or compiles with NVRTC. Results in order.
std::vector<Outcome<Binary>> compile_all(const std::vector<codegen::Source>& sources, const codegen::Target& target,
                                         const Options& options, int jobs);

/// A loaded binary. Not copyable; unloads when destroyed.
class Module {
 public:
  virtual ~Module() = default;
  /// Host: the function's address. CUDA: the CUfunction of the device current at load. Throws InternalError if absent.
  virtual void* kernel(const std::string& name) = 0;
};
/// CUDA: into the current context of `device`. Host: through a private file that is removed once loaded.
Outcome<std::unique_ptr<Module>> load(const Binary& binary, const Device& device);

using HostKernel = void (*)(void* const* args, std::int64_t begin, std::int64_t end);

/// Launches a CUDA kernel on `stream`. Returns a Rejection with the driver's error name; never throws.
/// `pointers` holds one device address per launch.args.
Outcome<int> launch_cuda(void* function, const codegen::Launch& launch, void* const* pointers, void* stream);
/// cuMemsetD8Async.
Outcome<int> zero_cuda(void* pointer, std::int64_t bytes, void* stream);

/// What is here: driver, NVRTC and g++ versions, device names; for `cudaagent doctor`. Missing things are null.
Json survey(const Options& options);

}  // namespace cudaagent::jit
