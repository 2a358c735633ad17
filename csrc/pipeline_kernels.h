// From regions to loaded kernels: candidate, source, binary; each looked up in the cache before it is made.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cache/cache.h"
#include "jit/jit.h"
#include "runtime/runtime.h"
#include "schedule/schedule.h"

namespace cudaagent {

/// One distinct loop body of a plan and what was made of it. Regions with equal bodies share one Built.
struct Built {
  std::string fingerprint;  ///< of the body
  codegen::Candidate candidate;
  codegen::Source source;
  std::string binary_key;  ///< digest of the binary's cache key
  jit::Binary binary;
  std::shared_ptr<runtime::Kernel> kernel;  ///< loaded on first need
  bool binary_from_cache = false;
  std::string rejection;  ///< not empty: no kernel; the reason
  std::string log;
};

/// Built kernels by body fingerprint; survives the rounds of one optimize().
using BuiltMap = std::map<std::string, std::shared_ptr<Built>>;

struct CacheCounts {
  int record_hits = 0, record_misses = 0, binary_hits = 0, binary_misses = 0;
};

/// Sources and binaries for every generated region of `plan` that `built` lacks.
void build_kernels(const schedule::Plan& plan, const codegen::Target& target, const Options& options,
                   cache::Store& store, BuiltMap& built, CacheCounts& counts);

/// Compiles those of `kernels` that have a source and no rejection, outside the cache.
void compile_kernels(const std::vector<std::shared_ptr<Built>>& kernels, const codegen::Target& target,
                     const Options& options);

/// Remembers the winner, so that the next program with this body starts from it.
void store_candidate(const Built& winner, const codegen::Target& target, const Options& options, cache::Store& store);

/// Loads `built.binary` into this process, once per process and binary.
Outcome<std::shared_ptr<runtime::Kernel>> load_kernel(Built& built, const Device& device);

}  // namespace cudaagent
