#include "rewrite/passes.h"

#include <numeric>

#include "ir/prims.h"

namespace cudaagent::rewrite {

using ir::ValueId;

std::vector<bool> escaping(const ir::Graph& graph) {
  std::vector<bool> escapes(graph.values.size(), false);
  const auto mark = [&](ValueId id) {
    if (id != ir::no_value) escapes[static_cast<std::size_t>(id)] = true;
  };
  for (const ir::Output& output : graph.outputs) mark(output.value);
  for (const ir::Mutation& mutation : graph.mutations) mark(mutation.value);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (ir::is_view(node->op) && escapes[static_cast<std::size_t>(node->outputs[0])]) mark(references(node->args)[0]);
  }
  return escapes;
}

std::vector<ValueId> no_substitution(const ir::Graph& graph) {
  std::vector<ValueId> to(graph.values.size());
  std::iota(to.begin(), to.end(), 0);
  return to;
}

void substitute(ir::Graph& graph, std::vector<ValueId> to) {
  for (ValueId& target : to) {
    while (to[static_cast<std::size_t>(target)] != target) target = to[static_cast<std::size_t>(target)];
  }
  const auto replace = [&](ValueId& id) {
    if (id != ir::no_value) id = to[static_cast<std::size_t>(id)];
  };
  for (ir::Node& node : graph.nodes) node.args = remap_references(node.args, to);
  for (ir::Output& output : graph.outputs) replace(output.value);
  for (ir::Mutation& mutation : graph.mutations) replace(mutation.value);
}

const ir::Node* maker(const ir::Graph& graph, const std::vector<std::int32_t>& producers, ValueId v) {
  const std::int32_t node = producers[static_cast<std::size_t>(v)];
  return node < 0 ? nullptr : &graph.nodes[static_cast<std::size_t>(node)];
}

int remove_dead(ir::Graph& graph) {
  std::vector<bool> live(graph.values.size(), false);
  const auto mark = [&](ValueId id) {
    if (id != ir::no_value) live[static_cast<std::size_t>(id)] = true;
  };
  for (const ir::Input& input : graph.inputs) mark(input.value);
  for (const ir::Output& output : graph.outputs) mark(output.value);
  for (const ir::Mutation& mutation : graph.mutations) mark(mutation.value);
  std::vector<ir::Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (ir::is_prim(node->op) && !live[static_cast<std::size_t>(node->outputs[0])]) continue;
    for (const ValueId id : node->outputs) mark(id);
    for (const ValueId id : references(node->args)) mark(id);
    kept.push_back(std::move(*node));
  }
  const int removed = static_cast<int>(graph.nodes.size() - kept.size());
  graph.nodes.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));

  std::vector<ValueId> to(graph.values.size(), ir::no_value);
  std::vector<ir::Value> values;
  for (std::size_t v = 0; v < to.size(); ++v) {
    if (!live[v]) continue;
    to[v] = static_cast<ValueId>(values.size());
    values.push_back(std::move(graph.values[v]));
  }
  graph.values = std::move(values);
  const auto move = [&](ValueId& id) {
    if (id != ir::no_value) id = to[static_cast<std::size_t>(id)];
  };
  for (ir::Node& node : graph.nodes) {
    node.args = remap_references(node.args, to);
    for (ValueId& id : node.outputs) move(id);
  }
  for (ir::Input& input : graph.inputs) move(input.value);
  for (ir::Output& output : graph.outputs) {
    move(output.value);
    move(output.alias_of);
  }
  for (ir::Mutation& mutation : graph.mutations) {
    move(mutation.input);
    move(mutation.value);
  }
  return removed;
}

}  // namespace cudaagent::rewrite
