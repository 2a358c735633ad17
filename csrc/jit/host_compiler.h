// g++ as the host's code generator: one source, one shared object, in a private folder, under a time limit.
#pragma once

#include <string>

#include "jit/jit.h"

namespace cudaagent::jit {

/// A pathological source costs this long at most.
inline constexpr double host_compile_limit_s = 120;

Outcome<Binary> compile_host(const codegen::Source& source, const Options& options,
                             double limit_s = host_compile_limit_s);

/// Compiler version, flags and processor features: all that decides the object besides source and prelude.
std::string host_toolchain(const Options& options);

/// First line of `cxx --version`, asked once a process; empty when there is no such compiler.
std::string host_compiler_version(const Options& options);
/// Then: why, and what to do, in the words of compile_host's error.
std::string host_compiler_absence(const Options& options);

}  // namespace cudaagent::jit
