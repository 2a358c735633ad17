#include <gtest/gtest.h>

#include "schedule/strided_view.h"
#include "support/prim_builder.h"

namespace cudaagent::schedule {
namespace {

using testing::PrimBuilder;
using Strides = std::vector<std::int64_t>;

StridedView through(const PrimBuilder& b, ir::ValueId from) {
  StridedView view = StridedView::whole(b.graph.type(from));
  for (const ir::Node& node : b.graph.nodes) EXPECT_TRUE(view.apply(b.graph, node));
  return view;
}

TEST(StridedView, PermuteAndReshapeOfAContiguousTensorAreViews) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {2, 3, 4});
  b.permute(b.reshape(x, {6, 4}), {1, 0});
  EXPECT_EQ(*through(b, x).strides(), (Strides{1, 4}));
}

TEST(StridedView, ReshapeThatDoesNotNestIsStillAViewOfContiguousMemory) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {2, 6});
  b.reshape(x, {3, 4});
  EXPECT_EQ(*through(b, x).strides(), (Strides{4, 1}));
}

TEST(StridedView, FlatteningATransposeTakesSeveralFactors) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {2, 6});
  b.reshape(b.permute(x, {1, 0}), {12});
  const StridedView view = through(b, x);
  EXPECT_FALSE(view.strides());
  ASSERT_EQ(view.dims[0].size(), 2u);
  EXPECT_EQ(view.dims[0][1].stride, 6);
}

TEST(StridedView, FactorsThatDoNotNestCannotBeSaid) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {2, 6});
  const auto t = b.permute(x, {1, 0});
  b.reshape(t, {4, 3});
  StridedView view = StridedView::whole(b.graph.type(x));
  ASSERT_TRUE(view.apply(b.graph, b.graph.nodes[0]));
  EXPECT_FALSE(view.apply(b.graph, b.graph.nodes[1]));
}

TEST(StridedView, SlicesAndFlipsMoveTheOffset) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {4, 10});
  b.slice(b.slice(x, 1, 1, 3, 3), 0, 3, -1, 4);
  const StridedView view = through(b, x);
  EXPECT_EQ(view.offset, 31);
  EXPECT_EQ(*view.strides(), (Strides{-10, 3}));
}

TEST(StridedView, ExpandedDimsDoNotMove) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {3, 1});
  b.expand(x, {2, 3, 5});
  EXPECT_EQ(*through(b, x).strides(), (Strides{0, 1, 0}));
}

}  // namespace
}  // namespace cudaagent::schedule
