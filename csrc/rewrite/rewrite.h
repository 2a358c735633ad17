// Public header of the room `rewrite`: algebra on graphs. One pass a file, one verb-named function, each with its
// class: exact, reassociating, guarded or finite-only (docs/design.md, section 3).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/ir.h"

namespace cudaagent::rewrite {

/// What a pass did, for explain().
struct Fired {
  std::string pass;
  std::string rule;
  int count = 0;
};

struct Result {
  ir::Graph graph;
  std::vector<Fired> fired;
  /// For each captured node left extern: why ("no template for aten::convolution", "complex64").
  std::vector<std::pair<std::int32_t, std::string>> left;
};

/// The pass list, in order, over the captured graph. `keep` names captured nodes that must stay extern, with the
/// reason: those whose kernels were rejected; it appears in `left`.
Result rewrite(const ir::Graph& captured, const Options& options, const std::map<std::int32_t, std::string>& keep = {});

/// Every ATen operator that has a rule, "aten::add.Tensor", sorted; a default overload carries no suffix.
std::vector<std::string> covered_operators();

}  // namespace cudaagent::rewrite
