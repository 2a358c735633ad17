#include "runtime/call.h"
#include "runtime/runtime.h"

namespace cudaagent::runtime {

namespace {

// By value, the last node that reads it; the number of nodes for what the graph returns.
std::vector<std::size_t> last_reads(const ir::Graph& graph) {
  std::vector<std::size_t> last(graph.values.size(), 0);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const std::int32_t value : references(graph.nodes[n].args)) last.at(static_cast<std::size_t>(value)) = n;
    for (const ir::ValueId value : graph.nodes[n].outputs) {
      if (value != ir::no_value) last.at(static_cast<std::size_t>(value)) = n;
    }
  }
  for (const ir::Output& output : graph.outputs) {
    if (output.value != ir::no_value) last.at(static_cast<std::size_t>(output.value)) = graph.nodes.size();
  }
  return last;
}

void run_node(const ir::Node& node, std::vector<Tensor>& values, TensorHost& host) {
  const Call call = make_call(node);
  std::vector<Tensor> inputs;
  for (const ir::ValueId value : call.operands) inputs.push_back(values.at(static_cast<std::size_t>(value)));
  std::vector<Tensor> returned = host.prepare(node.op, call.args)->run(inputs);
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    if (node.outputs[o] == ir::no_value) continue;
    if (o >= returned.size() || !returned[o]) throw InternalError(node.op + " returned no tensor where the graph has one");
    values.at(static_cast<std::size_t>(node.outputs[o])) = std::move(returned[o]);
  }
}

}  // namespace

std::vector<Tensor> interpret(const ir::Graph& graph, std::span<const Tensor> inputs, TensorHost& host) {
  if (inputs.size() != graph.inputs.size()) {
    throw UserError("the graph was given " + std::to_string(inputs.size()) + " inputs; pass the " +
                    std::to_string(graph.inputs.size()) + " it has");
  }
  std::vector<Tensor> values(graph.values.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) values.at(static_cast<std::size_t>(graph.inputs[i].value)) = inputs[i];
  const std::vector<std::size_t> last = last_reads(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    run_node(node, values, host);
    const auto drop = [&](std::int32_t value) {
      if (value != ir::no_value && last[static_cast<std::size_t>(value)] <= n) values[static_cast<std::size_t>(value)] = Tensor();
    };
    for (const std::int32_t value : references(node.args)) drop(value);
    for (const ir::ValueId value : node.outputs) drop(value);
  }
  std::vector<Tensor> outputs;
  for (const ir::Output& output : graph.outputs) {
    outputs.push_back(output.value == ir::no_value ? Tensor() : values.at(static_cast<std::size_t>(output.value)));
  }
  return outputs;
}

}  // namespace cudaagent::runtime
