// NVRTC, opened with dlopen: the copy torch carries, never a second one.
#pragma once

#include <string>

#include "jit/jit.h"

namespace cudaagent::jit {

/// Compiles to a cubin for target.arch. Needs no GPU. UserError when there is no NVRTC.
Outcome<Binary> compile_cuda(const codegen::Source& source, const codegen::Target& target, const Options& options);

/// NVRTC's version and the options given to it; empty when there is no NVRTC.
std::string nvrtc_toolchain(const codegen::Target& target, const Options& options);

/// "13.0"; empty when there is no NVRTC.
std::string nvrtc_version(const Options& options);
/// When there is none: why, and what to do, in the words of compile_cuda's error.
std::string nvrtc_absence(const Options& options);

}  // namespace cudaagent::jit
