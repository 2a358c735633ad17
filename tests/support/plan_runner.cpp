#include "support/plan_runner.h"

#include <cmath>
#include <limits>
#include <random>

#include "support/body_interpreter.h"

namespace cudaagent::testing {

namespace {

using ir::ValueId;
using schedule::Plan;
using schedule::Region;
using schedule::RegionKind;

std::string value_text(ValueId id) { return "%" + std::to_string(id); }

class Runner {
 public:
  Runner(const Plan& plan, const std::map<ValueId, Elements>& inputs) : plan_(plan) {
    for (const auto& [id, elements] : inputs) memory_[id] = to_memory(elements, plan.graph.type(id));
  }

  std::string run() {
    for (const Region& region : plan_.regions) {
      for (const ValueId input : region.inputs) {
        if (!memory_.count(input))
          return "region " + region.name + " reads " + value_text(input) + " before it is there";
      }
      if (region.kind == RegionKind::generated) run_generated(region);
      if (region.kind == RegionKind::external) run_one_external(region);
      if (region.kind == RegionKind::view) {
        const Elements seen =
            from_memory(memory_.at(region.view_of), plan_.graph.type(region.outputs[0]), region.view_offset);
        memory_[region.outputs[0]] = to_memory(seen, plan_.graph.type(region.outputs[0]));
      }
    }
    return "";
  }

  bool has(ValueId id) const { return memory_.count(id) > 0; }
  Elements elements(ValueId id) const { return from_memory(memory_.at(id), plan_.graph.type(id), 0); }

 private:
  void run_generated(const Region& region) {
    std::vector<std::vector<double>> buffers;
    for (const schedule::Buffer& buffer : region.body.buffers) {
      buffers.push_back(buffer.output ? Elements(static_cast<std::size_t>(buffer.span), std::nan(""))
                                      : memory_.at(buffer.value));
    }
    interpret_body(region.body, buffers);
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (region.body.buffers[b].output) memory_[region.body.buffers[b].value] = std::move(buffers[b]);
    }
  }

  void run_one_external(const Region& region) {
    const ir::Node& node = plan_.graph.nodes[static_cast<std::size_t>(region.nodes[0])];
    std::vector<Elements> operands;
    for (const ValueId read : references(node.args)) operands.push_back(elements(read));
    const std::vector<Elements> results = run_external(plan_.graph, node, operands);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (node.outputs[i] == ir::no_value) continue;
      memory_[node.outputs[i]] = to_memory(results[i], plan_.graph.type(node.outputs[i]));
    }
  }

  const Plan& plan_;
  std::map<ValueId, Elements> memory_;
};

bool close(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::abs(a - b) <= 1e-9 * (1 + std::max(std::abs(a), std::abs(b)));
}

std::string compare(ValueId id, const Elements& got, const Elements& expected) {
  if (got.size() != expected.size()) return value_text(id) + " has another size";
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (close(got[i], expected[i])) continue;
    return value_text(id) + "[" + std::to_string(i) + "] is " + std::to_string(got[i]) + ", not " +
           std::to_string(expected[i]);
  }
  return "";
}

}  // namespace

Elements random_elements(const TensorType& type, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> whole(-9, 9);
  Elements elements(static_cast<std::size_t>(type.numel()));
  for (double& element : elements) {
    if (type.dtype == DType::b8) {
      element = whole(random) > 0;
    } else if (type.dtype == DType::u8) {
      element = std::abs(whole(random));
    } else {
      element = is_float(type.dtype) ? normal(random) : whole(random);
    }
  }
  return elements;
}

std::vector<Elements> run_external(const ir::Graph& graph, const ir::Node& node,
                                   const std::vector<Elements>& operands) {
  std::vector<Elements> results;
  for (const ValueId output : node.outputs) {
    Elements& result = results.emplace_back(static_cast<std::size_t>(graph.type(output).numel()), 0.5);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      for (std::size_t i = 0; i < result.size() && !operands[k].empty(); ++i) {
        result[i] += static_cast<double>(k + 1) * 0.25 * operands[k][i % operands[k].size()];
      }
    }
  }
  return results;
}

std::string compare_plan(const Plan& plan, std::uint64_t seed) {
  std::map<ValueId, Elements> inputs;
  for (const ir::Input& input : plan.graph.inputs) {
    inputs[input.value] = random_elements(plan.graph.type(input.value), ++seed);
  }
  const auto expected = interpret_prims(plan.graph, inputs, [&](const ir::Node& node, const std::vector<Elements>& x) {
    return run_external(plan.graph, node, x);
  });
  Runner runner(plan, inputs);
  std::string problem = runner.run();
  if (!problem.empty()) return problem;
  std::vector<ValueId> wanted;
  for (const ir::Output& output : plan.graph.outputs) wanted.push_back(output.value);
  for (const ir::Mutation& mutation : plan.graph.mutations) wanted.push_back(mutation.value);
  for (const ValueId id : wanted) {
    if (id == ir::no_value) continue;
    if (!runner.has(id)) return value_text(id) + " is never materialised";
    problem = compare(id, runner.elements(id), expected.at(id));
    if (!problem.empty()) return problem;
  }
  return "";
}

}  // namespace cudaagent::testing
