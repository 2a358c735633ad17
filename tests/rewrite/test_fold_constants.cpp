#include <gtest/gtest.h>

#include "rewrite/graphs.h"
#include "rewrite/passes.h"
#include "support/prim_builder.h"

namespace cudaagent::rewrite {
namespace {

using cudaagent::testing::PrimBuilder;
using testing::Names;
using testing::ops;

ir::Graph folded(PrimBuilder& b) { return testing::after(fold_constants, b.graph); }

TEST(FoldConstants, AFullOperandBecomesANumber) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {2, 3});
  b.output(b.map("add", x, b.full(2, DType::f32, {1, 3})));
  const ir::Graph graph = folded(b);
  ASSERT_EQ(ops(graph), Names{"prim::add"});
  EXPECT_EQ(graph.nodes[0].args[1].value, Arg{2.0});
}

TEST(FoldConstants, OneThatGivesTheDimsStays) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {3});
  b.output(b.map("add", x, b.full(2, DType::f32, {2, 3})));
  EXPECT_EQ(ops(folded(b)), (Names{"prim::full", "prim::add"}));
}

TEST(FoldConstants, ChainsAreComputed) {
  PrimBuilder b;
  const auto ones = b.expand(b.full(1, DType::f32, {1}), {4});
  const auto half = b.convert(b.map("div", ones, 3.0), DType::f16);
  b.output(b.map("lt", b.convert(half, DType::f32), b.full(1.0 / 3, DType::f32, {})));
  const ir::Graph graph = folded(b);
  ASSERT_EQ(ops(graph), Names{"prim::full"});
  EXPECT_EQ(graph.type(graph.outputs[0].value).dtype, DType::b8);
  // A third rounds down in half precision.
  EXPECT_EQ(graph.nodes[0].args[0].value, Arg{true});
}

TEST(FoldConstants, WhereKeepsATensorToTypeIt) {
  PrimBuilder b;
  const auto mask = b.input(DType::b8, {4});
  b.output(b.map("where", {mask, b.full(1, DType::f32, {}), 0.0}));
  EXPECT_EQ(ops(folded(b)), (Names{"prim::full", "prim::where"}));
}

TEST(FoldConstants, AnInfinityIsNotAnInteger) {
  PrimBuilder b;
  b.input(DType::f32, {1});
  b.output(b.convert(b.full(std::numeric_limits<double>::infinity(), DType::f32, {4}), DType::i32));
  EXPECT_EQ(ops(folded(b)), (Names{"prim::full", "prim::convert"}));
}

}  // namespace
}  // namespace cudaagent::rewrite
