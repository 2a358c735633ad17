#include <gtest/gtest.h>

#include "rewrite/graphs.h"
#include "rewrite/passes.h"
#include "support/prim_builder.h"

namespace cudaagent::rewrite {
namespace {

using cudaagent::testing::PrimBuilder;
using testing::Names;
using testing::ops;
using Dims = std::vector<std::int64_t>;

ir::Graph cancelled(PrimBuilder& b) { return testing::after(cancel_views, b.graph); }

TEST(CancelViews, InversePermutationsVanish) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {2, 3, 4});
  b.output(b.map("exp", b.permute(b.permute(x, {2, 0, 1}), {1, 2, 0})));
  EXPECT_EQ(ops(cancelled(b)), Names{"prim::exp"});
}

TEST(CancelViews, PermutationsCompose) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {2, 3, 4});
  b.output(b.map("exp", b.permute(b.permute(x, {1, 2, 0}), {1, 2, 0})));
  const ir::Graph graph = cancelled(b);
  ASSERT_EQ(ops(graph), (Names{"prim::permute", "prim::exp"}));
  EXPECT_EQ(as_int_list(*find_arg(graph.nodes[0].args, "dims")), (Dims{2, 0, 1}));
}

TEST(CancelViews, ReshapesThereAndBackVanish) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {2, 6});
  b.output(b.map("exp", b.reshape(b.reshape(x, {3, 4}), {2, 6})));
  EXPECT_EQ(ops(cancelled(b)), Names{"prim::exp"});
}

TEST(CancelViews, SlicesOfOneDimCompose) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {20});
  b.output(b.map("exp", b.slice(b.slice(x, 0, 2, 3, 6), 0, 5, -2, 3)));
  const ir::Graph graph = cancelled(b);
  ASSERT_EQ(ops(graph), (Names{"prim::slice", "prim::exp"}));
  EXPECT_EQ(find_arg(graph.nodes[0].args, "start")->as<std::int64_t>(), 17);
  EXPECT_EQ(find_arg(graph.nodes[0].args, "step")->as<std::int64_t>(), -6);
}

TEST(CancelViews, AFlipThatKeepsTheExtentIsNoIdentity) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {5});
  b.output(b.map("exp", b.slice(x, 0, 4, -1, 5)));
  EXPECT_EQ(ops(cancelled(b)), (Names{"prim::slice", "prim::exp"}));
}

TEST(CancelViews, AnOutputKeepsItsChain) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {2, 3});
  b.output(b.permute(b.permute(x, {1, 0}), {1, 0}));
  EXPECT_EQ(ops(cancelled(b)), (Names{"prim::permute", "prim::permute"}));
}

}  // namespace
}  // namespace cudaagent::rewrite
