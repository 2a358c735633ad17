#include <gtest/gtest.h>

#include "support/graph_builder.h"
#include "verify/recast.h"

namespace cudaagent::verify {
namespace {

using cudaagent::testing::arg;
using cudaagent::testing::GraphBuilder;
using cudaagent::testing::ref;

TEST(Recast, FloatValuesAndDtypeArguments) {
  GraphBuilder b;
  const ir::ValueId x = b.input(DType::bf16, {4});
  const ir::ValueId n = b.input(DType::i64, {4});
  const ir::ValueId wide = b.node("aten::to.dtype", {ref("self", x), arg("dtype", {DType::f32})}, DType::f32, {4});
  const ir::ValueId whole = b.node("aten::to.dtype", {ref("self", wide), arg("dtype", {DType::i64})}, DType::i64, {4});
  b.output(b.node("aten::add.Tensor", {ref("self", whole), ref("other", n)}, DType::i64, {4}));
  const ir::Graph out = recast(b.graph, DType::f64);
  ir::check(out);
  EXPECT_EQ(out.type(x).dtype, DType::f64);
  EXPECT_EQ(out.type(n).dtype, DType::i64);
  EXPECT_EQ(find_arg(out.nodes[0].args, "dtype")->as<DType>(), DType::f64);
  EXPECT_EQ(find_arg(out.nodes[1].args, "dtype")->as<DType>(), DType::i64);
  EXPECT_EQ(out.nodes.size(), b.graph.nodes.size());
}

// div of integers gives torch's default dtype: the operands go to fp64 first.
TEST(Recast, IntegersThatBecomeFloats) {
  GraphBuilder b;
  const ir::ValueId n = b.input(DType::i64, {4});
  const ir::ValueId m = b.input(DType::i64, {4});
  b.output(b.node("aten::div.Tensor", {ref("self", n), ref("other", m)}, DType::f32, {4}));
  const ir::Graph out = recast(b.graph, DType::f64);
  ir::check(out);
  ASSERT_EQ(out.nodes.size(), 3u);
  EXPECT_EQ(out.nodes[0].op, "aten::_to_copy");
  for (const std::int32_t id : references(out.nodes[2].args)) EXPECT_EQ(out.type(id).dtype, DType::f64);
}

TEST(Recast, AConditionStaysBool) {
  GraphBuilder b;
  const ir::ValueId c = b.input(DType::b8, {4});
  b.output(
      b.node("aten::where.Scalar", {ref("condition", c), arg("self", {1.0}), arg("other", {0.0})}, DType::f32, {4}));
  EXPECT_EQ(recast(b.graph, DType::f64).nodes.size(), 1u);
}

TEST(MultipliesMatrices, ByOperator) {
  GraphBuilder b;
  const ir::ValueId x = b.input(DType::f32, {4, 4});
  const ir::ValueId y = b.node("aten::relu", {ref("self", x)}, DType::f32, {4, 4});
  EXPECT_FALSE(multiplies_matrices(b.graph));
  b.output(b.node("aten::mm", {ref("self", y), ref("mat2", x)}, DType::f32, {4, 4}));
  EXPECT_TRUE(multiplies_matrices(b.graph));
}

}  // namespace
}  // namespace cudaagent::verify
