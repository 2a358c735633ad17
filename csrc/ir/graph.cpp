#include <nlohmann/json.hpp>
#include <unordered_map>

#include "ir/ir.h"

namespace cudaagent::ir {

ValueId Graph::add_value(Value value) {
  values.push_back(std::move(value));
  return static_cast<ValueId>(values.size() - 1);
}

std::vector<std::int32_t> producers(const Graph& graph) {
  std::vector<std::int32_t> producer(graph.values.size(), -1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId output : graph.nodes[n].outputs) {
      if (output != no_value) producer.at(static_cast<std::size_t>(output)) = static_cast<std::int32_t>(n);
    }
  }
  return producer;
}

std::vector<std::vector<std::int32_t>> users(const Graph& graph) {
  std::vector<std::vector<std::int32_t>> readers(graph.values.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto index = static_cast<std::int32_t>(n);
    for (const ValueId read : references(graph.nodes[n].args)) {
      auto& list = readers.at(static_cast<std::size_t>(read));
      if (list.empty() || list.back() != index) list.push_back(index);
    }
  }
  return readers;
}

namespace {

/// Copies values into a new graph on first sight.
class Renumbering {
 public:
  explicit Renumbering(const Graph& from) : from_(from), map_(from.values.size(), no_value) {}

  bool has(ValueId old) const { return map_.at(static_cast<std::size_t>(old)) != no_value; }

  ValueId take(ValueId old, Graph& to) {
    ValueId& fresh = map_.at(static_cast<std::size_t>(old));
    if (fresh == no_value) {
      Value value = from_.values[static_cast<std::size_t>(old)];
      value.origin = old;
      fresh = to.add_value(std::move(value));
    }
    return fresh;
  }

  const std::vector<ValueId>& map() const { return map_; }

 private:
  const Graph& from_;
  std::vector<ValueId> map_;
};

}  // namespace

Graph subgraph(const Graph& graph, const std::vector<std::int32_t>& nodes, const std::vector<ValueId>& outputs) {
  Graph out;
  Renumbering renumbering(graph);
  std::unordered_map<ValueId, const Input*> inputs;
  for (const Input& input : graph.inputs) inputs.emplace(input.value, &input);

  const auto read = [&](ValueId old) {
    if (renumbering.has(old)) return;
    const auto known = inputs.find(old);
    Input input = known == inputs.end() ? Input{} : *known->second;
    input.value = renumbering.take(old, out);
    out.inputs.push_back(std::move(input));
  };
  for (const std::int32_t index : nodes) {
    const Node& node = graph.nodes.at(static_cast<std::size_t>(index));
    for (const ValueId id : references(node.args)) read(id);
    Node copy = node;
    copy.args = remap_references(node.args, renumbering.map());
    if (copy.origin < 0) copy.origin = index;
    for (ValueId& output : copy.outputs) {
      if (output != no_value) output = renumbering.take(output, out);
    }
    out.nodes.push_back(std::move(copy));
  }
  for (const ValueId id : outputs) {
    read(id);
    Output output;
    output.value = renumbering.take(id, out);
    out.outputs.push_back(std::move(output));
  }
  return out;
}

}  // namespace cudaagent::ir
