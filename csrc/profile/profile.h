// Public header of the room `profile`: what a node of a captured graph must move and compute, and the least time for
// it.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace cudaagent::profile {

/// What one node cannot do without. A view moves nothing; a tensor read twice counts once.
struct Cost {
  double read_bytes = 0, written_bytes = 0;
  double products = 0;  ///< FLOPs of matrix products, convolutions, attention and recurrent layers
  double others = 0;    ///< elementary operations of everything else: one for each element met
};

/// One cost for each node of a captured (aten::) graph.
std::vector<Cost> costs(const ir::Graph& graph);

/// The whole graph with every intermediate kept on chip: its inputs and outputs once, the arithmetic of all nodes.
Cost fused_cost(const ir::Graph& graph);

/// Rates no kernel on a device exceeds, measured there or from its datasheet; a rate that is 0 or absent limits
/// nothing.
struct Ceilings {
  double bytes_per_second = 0;
  double others_per_second = 0;
  /// FLOPs of products by the type of their result ("float32"). Convolutions may have a rate of their own
  /// ("conv:float32"), since PyTorch allows them TF32 where it denies it to matrix products.
  std::map<std::string, double> products_per_second;
};

/// Roofline (Williams, Waterman and Patterson 2009): for each node the seconds of the slowest of its bytes, products
/// and other arithmetic.
std::vector<double> floors(const ir::Graph& graph, const Ceilings& ceilings);

/// Of fused_cost(); products of all nodes follow one another, while bytes move beside them.
double fused_floor(const ir::Graph& graph, const Ceilings& ceilings);

void from_json(const Json& json, Ceilings& ceilings);
void to_json(Json& json, const Cost& cost);

}  // namespace cudaagent::profile
