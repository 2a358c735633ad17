// Evaluates a graph of primitives node by node on logical indices: the reference scheduled bodies are held against.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "ir/ir.h"

namespace cudaagent::testing {

/// Elements in row-major logical order, whatever the strides.
using Elements = std::vector<double>;
/// What a node outside the primitives makes of its operands; one result an output.
using ExternalOp = std::function<std::vector<Elements>(const ir::Node&, const std::vector<Elements>&)>;

/// Every value of the graph from those of its inputs.
std::map<ir::ValueId, Elements> interpret_prims(const ir::Graph& graph, std::map<ir::ValueId, Elements> inputs,
                                                const ExternalOp& external);

/// Row-major elements to and from memory with the type's strides (type.span() elements).
Elements to_memory(const Elements& elements, const TensorType& type);
Elements from_memory(const Elements& memory, const TensorType& type, std::int64_t offset);

}  // namespace cudaagent::testing
