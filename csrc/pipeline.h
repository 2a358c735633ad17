// The spine: one walk through the rooms.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace cudaagent {

struct Optimized {
  std::unique_ptr<runtime::Program> program;
  /// What explain() shows: regions, kernels with source, rejections, verdicts, times of each room, cache hits.
  Json report;
};

/// `bound[i]`: graph input i is a parameter or buffer that bind() supplies.
Optimized optimize(const ir::Graph& captured, const std::vector<bool>& bound, const Options& options, TensorHost& host);

/// Everything up to binaries, with no device and no host: how CI proves the CUDA path. Report as above.
Json compile_only(const ir::Graph& captured, const Options& options);

/// As far as the schedule, which takes milliseconds: {"regions": [{"kind", "nodes", "why"}, ...]}
Json plan_only(const ir::Graph& captured, const Options& options);

}  // namespace cudaagent
