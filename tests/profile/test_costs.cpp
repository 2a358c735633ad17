#include <gtest/gtest.h>

#include "profile/profile.h"
#include "support/graph_builder.h"

namespace cudaagent::profile {
namespace {

using cudaagent::testing::arg;
using cudaagent::testing::GraphBuilder;
using cudaagent::testing::ref;
using ir::ValueId;

TEST(Costs, LinearThenRelu) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {8, 16});
  const ValueId w = b.input(DType::f32, {4, 16}, ir::InputKind::parameter);
  const ValueId y = b.node("aten::linear", {ref("input", x), ref("weight", w)}, DType::f32, {8, 4});
  const ValueId z = b.node("aten::relu", {ref("self", y)}, DType::f32, {8, 4});
  b.output(z);
  const std::vector<Cost> found = costs(b.graph);
  EXPECT_EQ(found[0].products, 2.0 * 8 * 4 * 16);
  EXPECT_EQ(found[0].read_bytes, 4.0 * (8 * 16 + 4 * 16));
  EXPECT_EQ(found[0].written_bytes, 4.0 * 8 * 4);
  EXPECT_EQ(found[1].products, 0);
  EXPECT_EQ(found[1].others, 8 * 4);
  const Cost whole = fused_cost(b.graph);
  EXPECT_EQ(whole.read_bytes + whole.written_bytes, 4.0 * (8 * 16 + 4 * 16 + 8 * 4));
}

TEST(Costs, ATensorReadTwiceCountsOnceAndAnExpandedOneIsSmall) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f16, {8, 16});
  b.graph.values[static_cast<std::size_t>(x)].type.strides = {0, 1};
  b.output(b.node("aten::mul.Tensor", {ref("self", x), ref("other", x)}, DType::f16, {8, 16}));
  EXPECT_EQ(costs(b.graph)[0].read_bytes, 2.0 * 16);
  EXPECT_EQ(costs(b.graph)[0].written_bytes, 2.0 * 8 * 16);
}

TEST(Costs, ViewsMoveNothingAndReshapesThatCopyDo) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {8, 16});
  const ValueId t = b.node("aten::t", {ref("self", x)}, DType::f32, {16, 8});
  b.graph.values[static_cast<std::size_t>(t)].type.strides = {1, 16};
  b.output(b.node("aten::reshape", {ref("self", t)}, DType::f32, {128}));
  b.output(b.node("aten::reshape", {ref("self", x)}, DType::f32, {128}));
  const std::vector<Cost> found = costs(b.graph);
  EXPECT_EQ(found[0].read_bytes, 0);
  EXPECT_EQ(found[1].read_bytes, 4.0 * 128);
  EXPECT_EQ(found[2].read_bytes, 0);
}

TEST(Costs, OfATableAsMuchIsReadAsIsWritten) {
  GraphBuilder b;
  const ValueId table = b.input(DType::f32, {50000, 64}, ir::InputKind::parameter);
  const ValueId at = b.input(DType::i64, {10});
  b.output(b.node("aten::embedding", {ref("weight", table), ref("indices", at)}, DType::f32, {10, 64}));
  EXPECT_EQ(costs(b.graph)[0].read_bytes, 4.0 * 10 * 64 + 8 * 10);
}

TEST(Floors, TheSlowestResourceDecides) {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {8, 16});
  const ValueId w = b.input(DType::f32, {4, 16});
  b.output(b.node("aten::linear", {ref("input", x), ref("weight", w)}, DType::f32, {8, 4}));
  Ceilings ceilings;
  ceilings.bytes_per_second = 896;
  EXPECT_DOUBLE_EQ(floors(b.graph, ceilings)[0], 1.0);
  ceilings.products_per_second["float32"] = 256;
  EXPECT_DOUBLE_EQ(floors(b.graph, ceilings)[0], 4.0);
  ceilings.products_per_second["conv:float32"] = 1;
  EXPECT_DOUBLE_EQ(floors(b.graph, ceilings)[0], 4.0);
  EXPECT_DOUBLE_EQ(fused_floor(b.graph, ceilings), 4.0);
}

}  // namespace
}  // namespace cudaagent::profile
