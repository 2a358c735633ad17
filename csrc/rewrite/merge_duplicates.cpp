#include <unordered_map>

#include "ir/prims.h"
#include "rewrite/passes.h"

namespace cudaagent::rewrite {

namespace {

std::string key_of(const ir::Graph& graph, const ir::Node& node) {
  std::string key = node.op + (node.implicit ? "~(" : "(");
  for (const NamedArg& arg : node.args) key += arg.name + "=" + ir::print_arg(arg.value) + ",";
  return key + ")" + ir::print_type(graph.type(node.outputs[0]));
}

}  // namespace

int merge_duplicates(ir::Graph& graph) {
  const auto escapes = escaping(graph);
  auto to = no_substitution(graph);
  std::unordered_map<std::string, ir::ValueId> seen;
  int fired = 0;
  for (ir::Node& node : graph.nodes) {
    node.args = remap_references(node.args, to);
    if (!ir::is_prim(node.op)) continue;
    const ir::ValueId made = node.outputs[0];
    const auto [it, first] = seen.try_emplace(key_of(graph, node), made);
    if (first || escapes[static_cast<std::size_t>(made)]) continue;
    if (graph.values[static_cast<std::size_t>(made)].origin != ir::no_value) continue;
    to[static_cast<std::size_t>(made)] = it->second;
    ++fired;
  }
  substitute(graph, std::move(to));
  return fired;
}

}  // namespace cudaagent::rewrite
