#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "ir/ir.h"
#include "support/graph_builder.h"

namespace cudaagent::ir {
namespace {

using cudaagent::testing::arg;
using cudaagent::testing::GraphBuilder;
using cudaagent::testing::ref;

/// y = relu(x + w); z = y * y; returns z and None; w <- w'
Graph sample() {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {4, 8});
  const ValueId w = b.input(DType::f32, {8}, InputKind::parameter);
  b.graph.inputs[1].target = "layer.weight";
  const ValueId sum = b.node("aten::add.Tensor", {ref("self", x), ref("other", w), arg("alpha", {std::int64_t{1}})},
                             DType::f32, {4, 8});
  const ValueId y = b.node("aten::relu", {ref("self", sum)}, DType::f32, {4, 8});
  const ValueId z = b.node("aten::mul.Tensor", {ref("self", y), ref("other", y)}, DType::f32, {4, 8});
  const ValueId next = b.node("aten::mul.Scalar", {ref("self", w), arg("other", {0.5})}, DType::f32, {8});
  b.output(z);
  b.graph.outputs.push_back({});
  b.graph.mutations.push_back({w, next});
  return b.graph;
}

TEST(Graph, ProducersAndUsers) {
  const Graph graph = sample();
  EXPECT_EQ(producers(graph), (std::vector<std::int32_t>{-1, -1, 0, 1, 2, 3}));
  EXPECT_EQ(users(graph)[1], (std::vector<std::int32_t>{0, 3}));
  EXPECT_EQ(users(graph)[3], (std::vector<std::int32_t>{2}));
  EXPECT_TRUE(users(graph)[4].empty());
}

TEST(Graph, Subgraph) {
  const Graph part = subgraph(sample(), {1, 2}, {4});
  check(part);
  ASSERT_EQ(part.inputs.size(), 1u);
  EXPECT_EQ(part.values[static_cast<std::size_t>(part.inputs[0].value)].origin, 2);
  EXPECT_EQ(part.inputs[0].kind, InputKind::user);
  ASSERT_EQ(part.nodes.size(), 2u);
  EXPECT_EQ(part.nodes[0].origin, 1);
  EXPECT_EQ(part.nodes[1].args[0].value, part.nodes[1].args[1].value);
  ASSERT_EQ(part.outputs.size(), 1u);
  EXPECT_EQ(part.values[static_cast<std::size_t>(part.outputs[0].value)].origin, 4);
  EXPECT_TRUE(part.mutations.empty());
}

TEST(Graph, SubgraphKeepsTheKindOfInputsAndPassesInputsThrough) {
  const Graph part = subgraph(sample(), {3}, {5, 1});
  check(part);
  ASSERT_EQ(part.inputs.size(), 1u);
  EXPECT_EQ(part.inputs[0].kind, InputKind::parameter);
  EXPECT_EQ(part.inputs[0].target, "layer.weight");
  EXPECT_EQ(part.outputs[1].value, part.inputs[0].value);
}

TEST(Graph, JsonRoundTrip) {
  Graph graph = sample();
  graph.values[0].range_hi = 10;
  graph.outputs[0].alias_of = 0;
  graph.nodes[3].origin = 7;
  graph.nodes[3].implicit = true;
  const Json json = graph;
  EXPECT_EQ(Json(Json::parse(json.dump()).get<Graph>()), json);
}

TEST(Graph, ADocumentThatIsNotAGraphIsAUserError) {
  EXPECT_THROW(Json::object().get<Graph>(), UserError);
  Json missing = sample();
  missing["nodes"][0].erase("op");
  EXPECT_THROW(missing.get<Graph>(), UserError);
  Json dangling = sample();
  dangling["nodes"][0]["args"][0][1]["ref"] = 77;
  EXPECT_THROW(dangling.get<Graph>(), UserError);
}

TEST(Graph, Prints) {
  const std::string text = print(sample());
  EXPECT_NE(text.find("parameter %1: f32[8] layer.weight"), std::string::npos) << text;
  EXPECT_NE(text.find("%2: f32[4, 8] = aten::add.Tensor(%0, %1, alpha=1)"), std::string::npos) << text;
  EXPECT_NE(text.find("return None"), std::string::npos) << text;
  EXPECT_EQ(print_type({DType::b8, {4, 8}, {1, 4}, {DeviceType::cuda, 0}}), "b8[4, 8; 1, 4]@cuda:0");
  EXPECT_EQ(print_arg({1.0}), "1.0");
  EXPECT_EQ(print_arg(int_list({1, 2})), "[1, 2]");
}

TEST(Fingerprint, IgnoresNamesNumbersAndOrigins) {
  Graph renamed = sample();
  // Values listed backwards, renamed, with a dead one in between.
  const auto last = static_cast<ValueId>(renamed.values.size());
  std::reverse(renamed.values.begin(), renamed.values.end());
  renamed.add_value({});
  std::vector<ValueId> map;
  for (ValueId id = 0; id < last; ++id) map.push_back(last - 1 - id);
  const auto to = [&](ValueId& id) { id = id == no_value ? no_value : map[static_cast<std::size_t>(id)]; };
  for (Value& value : renamed.values) value.name += "_renamed", value.origin = 3;
  for (Input& input : renamed.inputs) to(input.value), input.target += ".x";
  for (Node& node : renamed.nodes) {
    node.args = remap_references(node.args, map);
    node.origin = 9;
    for (ValueId& id : node.outputs) to(id);
  }
  for (Output& output : renamed.outputs) to(output.value);
  for (Mutation& mutation : renamed.mutations) to(mutation.input), to(mutation.value);
  check(renamed);
  EXPECT_EQ(fingerprint(renamed), fingerprint(sample()));
}

TEST(Fingerprint, SeesWhatDecidesTheComputation) {
  const std::string before = fingerprint(sample());
  const std::vector<std::function<void(Graph&)>> changes = {
      [](Graph& g) { g.nodes[1].op = "aten::exp"; },
      [](Graph& g) { g.nodes[3].args[1].value = {0.25}; },
      [](Graph& g) { g.values[0].type.strides = {1, 4}; },
      [](Graph& g) { g.values[4].type.dtype = DType::f64; },
      [](Graph& g) { g.values[0].type.device = {DeviceType::cuda, 0}; },
      [](Graph& g) { g.inputs[1].kind = InputKind::buffer; },
      [](Graph& g) { g.mutations.clear(); },
      [](Graph& g) { g.outputs[0].value = 3; },
      [](Graph& g) { g.outputs[0].alias_of = 0; },
      [](Graph& g) { std::swap(g.inputs[0], g.inputs[1]); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Graph graph = sample();
    changes[i](graph);
    EXPECT_NE(fingerprint(graph), before) << "change " << i;
  }
}

}  // namespace
}  // namespace cudaagent::ir
