// From regions to loaded kernels: candidate, source, binary; each looked up in the cache before it is made.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cache/cache.h"
#include "pipeline_workshop.h"
#include "runtime/runtime.h"

namespace cudaagent {

/// One distinct loop body of a plan and what was made of it. Regions with equal bodies share one Built.
struct Built {
  std::string fingerprint;  ///< of the body
  codegen::Candidate candidate;
  codegen::Source source;
  cache::Key stored_as;    ///< of the binary
  std::string binary_key;  ///< its digest
  jit::Binary binary;
  std::shared_ptr<runtime::Kernel> kernel;  ///< loaded on first need
  bool binary_from_cache = false;
  std::string rejection;  ///< not empty: no kernel; the reason
  std::string log;
};
using Kernels = std::vector<std::shared_ptr<Built>>;

/// Built kernels by body fingerprint; survives the rounds of one optimize().
using BuiltMap = std::map<std::string, std::shared_ptr<Built>>;

struct CacheCounts {
  int record_hits = 0, record_misses = 0, binary_hits = 0, binary_misses = 0;
};

/// The region's source from that candidate, or why there is none.
std::shared_ptr<Built> write_source(const schedule::Region& region, codegen::Candidate candidate, const Workshop& shop);

/// A Built for every generated region of `plan` that `built` lacks; those that are new.
Kernels write_sources(const schedule::Plan& plan, const Workshop& shop, const cache::Store& store, BuiltMap& built);

/// Binaries of `kernels`, from the cache or compiled and kept there.
void make_binaries(const Kernels& kernels, const Workshop& shop, cache::Store& store, CacheCounts& counts);

/// Compiles those of `kernels` that have a source and no rejection, outside the cache.
void compile_kernels(const Kernels& kernels, const Workshop& shop);

/// Remembers the winner, so that the next program with this body starts from it.
void store_candidate(const Built& winner, const Workshop& shop, cache::Store& store);

/// Loads `built.binary` into this process, once per process and binary.
Outcome<std::shared_ptr<runtime::Kernel>> load_kernel(Built& built, const Device& device);

}  // namespace cudaagent
