// The first pass: captured ATen nodes become primitives where a rule exists. Class: reassociating (a normalisation's
// sums run in another order than eager's); everything else it does is exact.
#pragma once

#include "rewrite/rewrite.h"

namespace cudaagent::rewrite {

/// Fills result.graph, result.left and one Fired per operator.
void decompose(const ir::Graph& captured, const std::map<std::int32_t, std::string>& keep, Result& result);

}  // namespace cudaagent::rewrite
