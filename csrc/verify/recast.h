// The truth graph in another float type: fp64 for the truth, bf16 for precision="medium".
#pragma once

#include "ir/ir.h"

namespace cudaagent::verify {

/// `graph` with every float value and every float dtype argument changed to `to`. A node that turns integers into
/// floats by torch's default dtype gets its integer operands converted first, so that it computes in `to` as well.
ir::Graph recast(const ir::Graph& graph, DType to);

/// True when an operator multiplies matrices or convolves: what torch may run in TF32.
bool multiplies_matrices(const ir::Graph& graph);

}  // namespace cudaagent::verify
