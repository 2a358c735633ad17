// What the counts know of ATen operators by name.
#pragma once

#include <string>
#include <string_view>

#include "ir/ir.h"

namespace cudaagent::profile {

/// "linear" of "aten::linear.out".
std::string_view base_name(std::string_view op);

/// Gives another view of its operand's memory, whatever the sizes.
bool is_view(std::string_view name);

/// Reads only as much of its first operand as it writes (embedding, gather, index_select ...).
bool is_lookup(std::string_view name);

/// FLOPs of a product, a convolution, attention or a recurrent layer; 0 for every other operator.
double product_flops(const ir::Graph& graph, const ir::Node& node);

}  // namespace cudaagent::profile
