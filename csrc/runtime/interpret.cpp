#include "runtime/call.h"
#include "runtime/runtime.h"

namespace cudaagent::runtime {

namespace {

struct Step {
  std::string op;
  std::unique_ptr<ExternCall> call;
  std::vector<ir::ValueId> operands, outputs;
  std::vector<ir::ValueId> spent;  ///< values nobody reads after this step
};

// By value, the last node that reads or makes it; the number of nodes for what the graph returns.
std::vector<std::size_t> last_uses(const ir::Graph& graph) {
  std::vector<std::size_t> last(graph.values.size(), 0);
  const auto use = [&](ir::ValueId value, std::size_t node) {
    if (value != ir::no_value) last.at(static_cast<std::size_t>(value)) = node;
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const std::int32_t value : references(graph.nodes[n].args)) use(value, n);
    for (const ir::ValueId value : graph.nodes[n].outputs) use(value, n);
  }
  for (const ir::Output& output : graph.outputs) use(output.value, graph.nodes.size());
  return last;
}

}  // namespace

struct Interpreter::State {
  std::vector<Step> steps;
  std::vector<ir::ValueId> inputs, outputs;
  std::size_t values = 0;
};

Interpreter::Interpreter(const ir::Graph& graph, TensorHost& host) : state_(std::make_unique<State>()) {
  state_->values = graph.values.size();
  for (const ir::Input& input : graph.inputs) state_->inputs.push_back(input.value);
  for (const ir::Output& output : graph.outputs) state_->outputs.push_back(output.value);
  const std::vector<std::size_t> last = last_uses(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    Call call = make_call(node);
    Step step{node.op, host.prepare(node.op, call.args), std::move(call.operands), node.outputs, {}};
    for (const auto* used : {&step.operands, &step.outputs}) {
      for (const ir::ValueId value : *used) {
        if (value != ir::no_value && last[static_cast<std::size_t>(value)] == n) step.spent.push_back(value);
      }
    }
    state_->steps.push_back(std::move(step));
  }
}

Interpreter::~Interpreter() = default;

std::vector<Tensor> Interpreter::run(std::span<const Tensor> inputs) const {
  return run(inputs, [](std::size_t, const std::function<void()>& call) { call(); });
}

std::vector<Tensor> Interpreter::run(std::span<const Tensor> inputs, const Around& around) const {
  if (inputs.size() != state_->inputs.size()) {
    throw UserError("the graph was given " + std::to_string(inputs.size()) + " inputs; pass the " +
                    std::to_string(state_->inputs.size()) + " it has");
  }
  std::vector<Tensor> values(state_->values);
  const auto at = [&](ir::ValueId value) -> Tensor& { return values.at(static_cast<std::size_t>(value)); };
  for (std::size_t i = 0; i < inputs.size(); ++i) at(state_->inputs[i]) = inputs[i];
  std::vector<Tensor> operands;
  for (std::size_t n = 0; n < state_->steps.size(); ++n) {
    const Step& step = state_->steps[n];
    operands.clear();
    for (const ir::ValueId value : step.operands) operands.push_back(at(value));
    std::vector<Tensor> returned;
    around(n, [&] { returned = step.call->run(operands); });
    for (std::size_t o = 0; o < step.outputs.size(); ++o) {
      if (step.outputs[o] == ir::no_value) continue;
      if (o >= returned.size() || !returned[o]) {
        throw InternalError(step.op + " returned no tensor where the graph has one");
      }
      at(step.outputs[o]) = std::move(returned[o]);
    }
    for (const ir::ValueId value : step.spent) at(value) = Tensor();
  }
  std::vector<Tensor> outputs;
  for (const ir::ValueId value : state_->outputs) outputs.push_back(value == ir::no_value ? Tensor() : at(value));
  return outputs;
}

std::vector<Tensor> interpret(const ir::Graph& graph, std::span<const Tensor> inputs, TensorHost& host) {
  return Interpreter(graph, host).run(inputs);
}

}  // namespace cudaagent::runtime
