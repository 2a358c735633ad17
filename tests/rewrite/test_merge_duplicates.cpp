#include <gtest/gtest.h>

#include "rewrite/graphs.h"
#include "rewrite/passes.h"
#include "support/prim_builder.h"

namespace cudaagent::rewrite {
namespace {

using cudaagent::testing::PrimBuilder;
using testing::Names;
using testing::ops;

TEST(MergeDuplicates, EqualPrimitivesMergeThroughChains) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {4});
  b.output(b.map("add", b.map("neg", b.map("exp", x)), b.map("neg", b.map("exp", x))));
  EXPECT_EQ(merge_duplicates(b.graph), 2);
  remove_dead(b.graph);
  EXPECT_EQ(ops(b.graph), (Names{"prim::exp", "prim::neg", "prim::add"}));
}

TEST(MergeDuplicates, DtypeAndConstantsTellApart) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {4});
  b.output(b.map("add", x, 1.0));
  b.output(b.map("add", x, 2.0));
  b.output(b.convert(x, DType::f64));
  b.output(b.convert(x, DType::f16));
  EXPECT_EQ(merge_duplicates(b.graph), 0);
}

TEST(MergeDuplicates, OutputsStayApart) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {4});
  b.output(b.map("exp", x));
  b.output(b.map("exp", x));
  EXPECT_EQ(merge_duplicates(b.graph), 0);
}

TEST(MergeDuplicates, WhatLeavesThroughViewsStaysApart) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {4});
  b.output(b.reshape(b.map("exp", x), {2, 2}));
  b.output(b.reshape(b.map("exp", x), {2, 2}));
  EXPECT_EQ(merge_duplicates(b.graph), 0);
}

TEST(MergeDuplicates, CapturedValuesKeepAProducerOfTheirOwn) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {4});
  const auto first = b.map("exp", x), second = b.map("exp", x);
  b.graph.values[static_cast<std::size_t>(second)].origin = 7;
  b.output(b.map("add", first, second));
  EXPECT_EQ(merge_duplicates(b.graph), 0);
}

TEST(RemoveDead, ExternNodesStay) {
  PrimBuilder b;
  const auto x = b.input(DType::f32, {4});
  b.map("exp", x);
  b.external({x}, DType::f32, {4});
  b.output(x);
  EXPECT_EQ(remove_dead(b.graph), 1);
  EXPECT_EQ(b.graph.nodes.size(), 1u);
  EXPECT_EQ(b.graph.values.size(), 2u);
}

}  // namespace
}  // namespace cudaagent::rewrite
