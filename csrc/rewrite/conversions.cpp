// Passes over prim::convert.
#include <algorithm>

#include "ir/prims.h"
#include "rewrite/passes.h"

namespace cudaagent::rewrite {

using ir::ValueId;

namespace {

bool is_convert(const ir::Node* node) { return node && node->op == "prim::convert"; }

ValueId operand(const ir::Node& node) { return references(node.args)[0]; }

/// Every value of `from` has one of `to`.
bool lossless(DType from, DType to) {
  if (from == to || from == DType::b8) return true;
  if (is_float(from)) return is_float(to) && dtype_size(to) > dtype_size(from);
  if (!is_integral(from) || !is_integral(to)) return false;
  return dtype_size(to) > dtype_size(from) && to != DType::u8;
}

bool one_origin(const ir::Graph& graph, const std::vector<std::int32_t>& readers) {
  return std::all_of(readers.begin(), readers.end(), [&](std::int32_t n) {
    return graph.nodes[static_cast<std::size_t>(n)].origin == graph.nodes[static_cast<std::size_t>(readers[0])].origin;
  });
}

/// Whether an extern node reads v, itself or through views.
std::vector<bool> read_by_extern(const ir::Graph& graph) {
  std::vector<bool> read(graph.values.size(), false);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool passes_on = ir::is_view(node->op) && read[static_cast<std::size_t>(node->outputs[0])];
    if (ir::is_prim(node->op) && !passes_on) continue;
    for (const ValueId id : references(node->args)) read[static_cast<std::size_t>(id)] = true;
  }
  return read;
}

}  // namespace

int elide_conversions(ir::Graph& graph) {
  const auto producers = ir::producers(graph);
  const auto users = ir::users(graph);
  const auto escapes = escaping(graph);
  auto to = no_substitution(graph);
  int fired = 0;
  for (const ir::Node& up : graph.nodes) {
    if (!is_convert(&up) || !up.implicit) continue;
    const ValueId half = operand(up), result = up.outputs[0];
    const ir::Node* down = maker(graph, producers, half);
    if (!is_convert(down) || !down->implicit) continue;
    const ValueId x = operand(*down);
    if (graph.type(x).dtype != graph.type(result).dtype || escapes[static_cast<std::size_t>(half)]) continue;
    const auto& readers = users[static_cast<std::size_t>(result)];
    if (users[static_cast<std::size_t>(half)].size() != 1 || !one_origin(graph, readers)) continue;
    if (escapes[static_cast<std::size_t>(result)]) continue;
    to[static_cast<std::size_t>(result)] = x;
    ++fired;
  }
  substitute(graph, std::move(to));
  return fired;
}

int merge_conversions(ir::Graph& graph) {
  const auto producers = ir::producers(graph);
  int fired = 0;
  for (ir::Node& outer : graph.nodes) {
    if (!is_convert(&outer)) continue;
    const ir::Node* inner = maker(graph, producers, operand(outer));
    if (!is_convert(inner)) continue;
    const ValueId x = operand(*inner);
    const DType from = graph.type(x).dtype, middle = graph.type(inner->outputs[0]).dtype;
    if (from == middle || !lossless(from, middle)) continue;
    outer.args[0].value = Arg{Ref{x}};
    ++fired;
  }
  return fired;
}

int drop_copies(ir::Graph& graph) {
  const auto producers = ir::producers(graph);
  const auto escapes = escaping(graph);
  const auto read = read_by_extern(graph);
  auto to = no_substitution(graph);
  int fired = 0;
  for (const ir::Node& node : graph.nodes) {
    if (!is_convert(&node)) continue;
    const ValueId x = operand(node), copy = node.outputs[0];
    if (graph.type(x).dtype != graph.type(copy).dtype || escapes[static_cast<std::size_t>(copy)]) continue;
    const ir::Node* source = maker(graph, producers, x);
    const bool same_layout = graph.type(x).strides == graph.type(copy).strides && !(source && ir::is_view(source->op));
    if (read[static_cast<std::size_t>(copy)] && !same_layout) continue;
    to[static_cast<std::size_t>(copy)] = x;
    ++fired;
  }
  substitute(graph, std::move(to));
  return fired;
}

}  // namespace cudaagent::rewrite
