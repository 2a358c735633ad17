#include <algorithm>

#include "ir/prims.h"
#include "rewrite/passes.h"

namespace cudaagent::rewrite {

using ir::ValueId;

namespace {

using Dims = std::vector<std::int64_t>;

ValueId operand(const ir::Node& node) { return references(node.args)[0]; }

std::int64_t integer(const ir::Node& node, const char* name) { return find_arg(node.args, name)->as<std::int64_t>(); }

void set(ir::Node& node, const char* name, Arg value) {
  for (NamedArg& arg : node.args) {
    if (arg.name == name) arg.value = std::move(value);
  }
}

/// Makes `outer` read what `inner` reads, where one node of the kind can do both.
bool compose(ir::Node& outer, const ir::Node& inner) {
  if (outer.op != inner.op) return false;
  if (outer.op == "prim::permute") {
    const Dims first = as_int_list(*find_arg(inner.args, "dims"));
    Dims order = as_int_list(*find_arg(outer.args, "dims"));
    for (std::int64_t& dim : order) dim = first[static_cast<std::size_t>(dim)];
    set(outer, "dims", int_list(order));
  } else if (outer.op == "prim::slice") {
    if (integer(outer, "dim") != integer(inner, "dim")) return false;
    const std::int64_t step = integer(inner, "step");
    set(outer, "start", Arg{integer(inner, "start") + integer(outer, "start") * step});
    set(outer, "step", Arg{integer(outer, "step") * step});
  }
  set(outer, "x", Arg{Ref{operand(inner)}});
  return true;
}

/// Equal dims in and out settle it, save for orders and directions.
bool changes_nothing(const ir::Graph& graph, const ir::Node& node) {
  if (graph.type(operand(node)).dims != graph.type(node.outputs[0]).dims) return false;
  if (node.op == "prim::slice") return integer(node, "step") == 1;
  if (node.op != "prim::permute") return true;
  const Dims order = as_int_list(*find_arg(node.args, "dims"));
  return std::is_sorted(order.begin(), order.end());
}

}  // namespace

int cancel_views(ir::Graph& graph) {
  const auto producers = ir::producers(graph);
  const auto escapes = escaping(graph);
  auto to = no_substitution(graph);
  int fired = 0;
  for (ir::Node& node : graph.nodes) {
    if (!ir::is_view(node.op)) continue;
    const ir::Node* inner = maker(graph, producers, operand(node));
    // An output keeps its chain: it says which memory it shares.
    const bool leaves = escapes[static_cast<std::size_t>(node.outputs[0])];
    while (inner && !leaves && compose(node, *inner)) {
      ++fired;
      inner = maker(graph, producers, operand(node));
    }
    if (leaves || !changes_nothing(graph, node)) continue;
    to[static_cast<std::size_t>(node.outputs[0])] = operand(node);
    ++fired;
  }
  substitute(graph, std::move(to));
  return fired;
}

}  // namespace cudaagent::rewrite
