// The rules of ir/prims.h for one node, apart from the graph's own rules.
#pragma once

#include <string>

#include "ir/ir.h"

namespace cudaagent::ir {

/// Throws InternalError that starts with `where` when `node` breaks a rule; its references must exist.
void check_prim(const Graph& graph, const Node& node, const std::string& where);

}  // namespace cudaagent::ir
