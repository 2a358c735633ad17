#include <gtest/gtest.h>

#include <algorithm>

#include "ir/prims.h"
#include "rewrite/decompose.h"
#include "rewrite/graphs.h"
#include "support/graph_builder.h"

namespace cudaagent::rewrite {
namespace {

using cudaagent::testing::arg;
using cudaagent::testing::GraphBuilder;
using cudaagent::testing::ref;
using testing::ops;

using testing::Names;

TEST(Decompose, ReluIsAMaximum) {
  GraphBuilder b;
  const auto x = b.input(DType::f32, {4, 8});
  b.output(b.node("aten::relu", {ref("self", x)}, DType::f32, {4, 8}));
  const Result result = rewrite(b.graph, {});
  EXPECT_EQ(ops(result.graph), Names{"prim::max"});
  EXPECT_TRUE(result.left.empty());
  EXPECT_EQ(result.graph.nodes[0].origin, 0);
  EXPECT_EQ(result.graph.values[1].origin, 1);
}

TEST(Decompose, ADefaultOverloadMayBeSpelledOut) {
  GraphBuilder b;
  const auto x = b.input(DType::f32, {4});
  b.output(b.node("aten::relu.default", {ref("self", x)}, DType::f32, {4}));
  EXPECT_EQ(ops(rewrite(b.graph, {}).graph), Names{"prim::max"});
}

TEST(Decompose, HalvesComputeInFloatThroughImplicitConversions) {
  GraphBuilder b;
  const auto x = b.input(DType::bf16, {4});
  b.output(b.node("aten::exp", {ref("self", x)}, DType::bf16, {4}));
  const ir::Graph graph = rewrite(b.graph, {}).graph;
  ASSERT_EQ(ops(graph), (Names{"prim::convert", "prim::exp", "prim::convert"}));
  EXPECT_TRUE(graph.nodes[0].implicit);
  EXPECT_TRUE(graph.nodes[2].implicit);
  EXPECT_EQ(graph.type(graph.nodes[1].outputs[0]).dtype, DType::f32);
}

TEST(Decompose, TheYieldedValueHasTheCapturedStrides) {
  GraphBuilder b;
  const auto x = b.input(DType::f32, {4, 8});
  const auto y = b.node("aten::exp", {ref("self", x)}, DType::f32, {4, 8});
  b.graph.values[static_cast<std::size_t>(y)].type.strides = {1, 4};
  b.output(y);
  const ir::Graph graph = rewrite(b.graph, {}).graph;
  EXPECT_EQ(graph.type(graph.outputs[0].value).strides, (std::vector<std::int64_t>{1, 4}));
}

TEST(Decompose, UnknownOperatorsStayExternWithTheirReason) {
  GraphBuilder b;
  const auto x = b.input(DType::f32, {4, 4});
  const auto y = b.node("aten::mm", {ref("self", x), ref("mat2", x)}, DType::f32, {4, 4});
  b.output(b.node("aten::relu", {ref("self", y)}, DType::f32, {4, 4}));
  const Result result = rewrite(b.graph, {});
  EXPECT_EQ(ops(result.graph), (Names{"aten::mm", "prim::max"}));
  ASSERT_EQ(result.left.size(), 1u);
  EXPECT_EQ(result.left[0], (std::pair<std::int32_t, std::string>{0, "no template for aten::mm"}));
}

TEST(Decompose, KeepWins) {
  GraphBuilder b;
  const auto x = b.input(DType::f32, {4});
  b.output(b.node("aten::relu", {ref("self", x)}, DType::f32, {4}));
  const Result result = rewrite(b.graph, {}, {{0, "not proved"}});
  EXPECT_EQ(ops(result.graph), Names{"aten::relu"});
  EXPECT_EQ(result.left[0].second, "not proved");
}

TEST(Decompose, UnsupportedDtypesAndDevicesStayExtern) {
  GraphBuilder b;
  const auto x = b.input(DType::c64, {4});
  b.output(b.node("aten::exp", {ref("self", x)}, DType::c64, {4}));
  EXPECT_EQ(rewrite(b.graph, {}).left[0].second, "complex64");

  GraphBuilder two;
  const auto y = two.input(DType::f32, {});
  two.device = {DeviceType::cuda, 0};
  const auto z = two.input(DType::f32, {4});
  two.output(two.node("aten::mul.Tensor", {ref("self", z), ref("other", y)}, DType::f32, {4}));
  EXPECT_EQ(rewrite(two.graph, {}).left[0].second, "tensors on several devices");
}

TEST(Decompose, AnArgumentThatIsNoConstantStaysExtern) {
  GraphBuilder b;
  const auto x = b.input(DType::f32, {4, 4});
  b.output(b.node("aten::softmax.int", {ref("self", x), arg("dim", Arg{std::string("s0")})}, DType::f32, {4, 4}));
  EXPECT_EQ(rewrite(b.graph, {}).left[0].second, "argument 'dim' is not a constant integer");
}

TEST(Decompose, AResultOfAnotherDtypeThanPromotionGivesStaysExtern) {
  GraphBuilder b;
  const auto x = b.input(DType::i32, {4});
  b.output(b.node("aten::mul.Tensor", {ref("self", x), arg("other", Arg{0.5})}, DType::f64, {4}));
  EXPECT_EQ(rewrite(b.graph, {}).left[0].second, "promoted to float32 but captured as float64");
}

TEST(Decompose, ARefusedNodeLeavesNothingBehind) {
  GraphBuilder b;
  const auto x = b.input(DType::f32, {0, 4});
  b.output(b.node("aten::logsumexp", {ref("self", x), arg("dim", int_list({0}))}, DType::f32, {4}));
  const Result result = rewrite(b.graph, {});
  EXPECT_EQ(ops(result.graph), Names{"aten::logsumexp"});
  EXPECT_EQ(result.graph.values.size(), 2u);
}

TEST(Decompose, MutationsAndAliasesArePreserved) {
  GraphBuilder b;
  const auto x = b.input(DType::f32, {4, 2});
  const auto sum = b.node("aten::add.Tensor", {ref("self", x), arg("other", Arg{1.0})}, DType::f32, {4, 2});
  const auto view = b.node("aten::view", {ref("self", x), arg("size", int_list({8}))}, DType::f32, {8});
  b.graph.outputs.push_back({view, {}, x});
  b.graph.mutations.push_back({x, sum});
  const ir::Graph graph = rewrite(b.graph, {}).graph;
  EXPECT_EQ(graph.outputs[0].alias_of, graph.inputs[0].value);
  EXPECT_EQ(graph.mutations[0].input, graph.inputs[0].value);
  EXPECT_EQ(graph.type(graph.mutations[0].value).dims, (std::vector<std::int64_t>{4, 2}));
}

TEST(Decompose, DropoutInEvaluationIsItsInput) {
  GraphBuilder b;
  const auto x = b.input(DType::f32, {4});
  const auto y = b.node("aten::relu", {ref("self", x)}, DType::f32, {4});
  const auto z =
      b.node("aten::dropout", {ref("input", y), arg("p", Arg{0.5}), arg("train", Arg{false})}, DType::f32, {4});
  b.output(z);
  const ir::Graph graph = rewrite(b.graph, {}).graph;
  EXPECT_EQ(ops(graph), Names{"prim::max"});
}

TEST(Decompose, SplitsAreSlices) {
  GraphBuilder b;
  const auto x = b.input(DType::f32, {6, 2});
  const auto first = b.value(DType::f32, {4, 2}), second = b.value(DType::f32, {2, 2});
  b.graph.nodes.push_back(
      {"aten::split.Tensor", {ref("self", x), arg("split_size", Arg{std::int64_t{4}})}, {first, second}, -1, false});
  b.output(first);
  b.output(second);
  const ir::Graph graph = rewrite(b.graph, {}).graph;
  EXPECT_EQ(ops(graph), (Names{"prim::slice", "prim::slice"}));
  EXPECT_EQ(find_arg(graph.nodes[1].args, "start")->as<std::int64_t>(), 4);
}

TEST(Decompose, ClassLossesBoundTheirTarget) {
  GraphBuilder b;
  const auto x = b.input(DType::f32, {4, 10}), target = b.input(DType::i64, {4});
  b.output(b.node("aten::cross_entropy_loss", {ref("self", x), ref("target", target)}, DType::f32, {}));
  const Result result = rewrite(b.graph, {});
  EXPECT_TRUE(result.left.empty());
  const ir::Value& value = result.graph.values[static_cast<std::size_t>(result.graph.inputs[1].value)];
  EXPECT_EQ(value.range_lo, 0);
  EXPECT_EQ(value.range_hi, 10);
}

TEST(CoveredOperators, AreSortedAndNameKnownOnes) {
  const std::vector<std::string> names = covered_operators();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_TRUE(std::binary_search(names.begin(), names.end(), "aten::softmax.int"));
  EXPECT_FALSE(std::binary_search(names.begin(), names.end(), "aten::linear"));
}

}  // namespace
}  // namespace cudaagent::rewrite
