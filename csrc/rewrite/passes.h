// The passes after decomposition, all exact unless said otherwise. Each returns how often it fired.
//
// One rule binds them: a value that leaves the graph (an output or what a mutation stores, itself or through views) is
// never replaced by another, because eager's caller may see whether two results share memory.
#pragma once

#include <vector>

#include "ir/ir.h"

namespace cudaagent::rewrite {

/// convert(convert(x: f32, half), f32) becomes x when both are implicit, the half has no other reader, and all readers
/// of the result were made from one captured node: then no kernel border is likely between them, at which the half
/// would be the cheaper value to store. Class: reassociating (a rounding is skipped).
int elide_conversions(ir::Graph& graph);
/// A conversion of a lossless conversion reads the original.
int merge_conversions(ir::Graph& graph);
/// A copy that nobody outside can tell from its original, and whose layout no extern reader needs, is its original.
int drop_copies(ir::Graph& graph);
/// Arithmetic on prim::full alone is done here; a full operand that broadcasts becomes a number.
int fold_constants(ir::Graph& graph);
/// A view of a view of the same kind is one view; one that changes nothing is its operand.
int cancel_views(ir::Graph& graph);
/// Of equal primitives one stays, unless the other equals a captured value, which keeps a producer of its own.
int merge_duplicates(ir::Graph& graph);
/// Primitives nobody reads go, and values without producer with them. Extern nodes stay: they may draw random numbers.
int remove_dead(ir::Graph& graph);

/// Values that are outputs or mutations, themselves or through views.
std::vector<bool> escaping(const ir::Graph& graph);
/// Replaces every use of v by to[v], following chains.
void substitute(ir::Graph& graph, std::vector<ir::ValueId> to);
/// to[v] == v for every value: where a substitution starts.
std::vector<ir::ValueId> no_substitution(const ir::Graph& graph);
/// The node that makes v, null for an input.
const ir::Node* maker(const ir::Graph& graph, const std::vector<std::int32_t>& producers, ir::ValueId v);

}  // namespace cudaagent::rewrite
