#include <gtest/gtest.h>

#include "rewrite/graphs.h"
#include "rewrite/passes.h"
#include "support/prim_builder.h"

namespace cudaagent::rewrite {
namespace {

using cudaagent::testing::arg;
using cudaagent::testing::PrimBuilder;
using cudaagent::testing::ref;
using testing::fired;
using testing::Names;
using testing::ops;

class Conversions : public ::testing::Test {
 protected:
  ir::ValueId implicit(ir::ValueId x, DType dtype, int origin) {
    const ir::ValueId made = b.convert(x, dtype);
    b.graph.nodes.back().implicit = true;
    b.graph.nodes.back().origin = origin;
    return made;
  }
  PrimBuilder b;
};

TEST_F(Conversions, AnImplicitRoundTripIsElided) {
  const auto x = b.input(DType::f32, {4});
  const auto up = implicit(implicit(b.map("exp", x), DType::bf16, 0), DType::f32, 1);
  b.output(b.map("neg", up));
  EXPECT_EQ(elide_conversions(b.graph), 1);
  remove_dead(b.graph);
  EXPECT_EQ(ops(b.graph), (Names{"prim::exp", "prim::neg"}));
}

TEST_F(Conversions, AWrittenRoundTripStays) {
  const auto x = b.input(DType::f32, {4});
  b.output(b.map("neg", b.convert(b.convert(x, DType::bf16), DType::f32)));
  EXPECT_EQ(elide_conversions(b.graph), 0);
  EXPECT_EQ(merge_conversions(b.graph), 0);
}

TEST_F(Conversions, AHalfThatSomethingElseReadsIsTheSharedValue) {
  const auto x = b.input(DType::f32, {4});
  const auto half = implicit(b.map("exp", x), DType::bf16, 0);
  b.output(half);
  b.output(b.map("neg", implicit(half, DType::f32, 1)));
  EXPECT_EQ(elide_conversions(b.graph), 0);
}

TEST_F(Conversions, ReadersFromSeveralCapturedNodesKeepTheRounding) {
  const auto x = b.input(DType::f32, {4});
  const auto up = implicit(implicit(b.map("exp", x), DType::f16, 0), DType::f32, 1);
  for (const int origin : {1, 2}) {
    b.output(b.map("neg", up));
    b.graph.nodes.back().origin = origin;
  }
  EXPECT_EQ(elide_conversions(b.graph), 0);
}

TEST_F(Conversions, ALosslessStepIsSkipped) {
  const auto x = b.input(DType::f16, {4});
  b.output(b.convert(b.convert(x, DType::f32), DType::f64));
  EXPECT_EQ(merge_conversions(b.graph), 1);
  remove_dead(b.graph);
  EXPECT_EQ(ops(b.graph), Names{"prim::convert"});
}

TEST_F(Conversions, ANarrowingStepIsNot) {
  const auto x = b.input(DType::i64, {4});
  b.output(b.convert(b.convert(x, DType::i8), DType::i64));
  EXPECT_EQ(merge_conversions(b.graph), 0);
}

TEST_F(Conversions, ACopyInsideIsDropped) {
  const auto x = b.input(DType::f32, {4});
  b.output(b.map("exp", b.convert(x, DType::f32)));
  EXPECT_EQ(drop_copies(b.graph), 1);
  remove_dead(b.graph);
  EXPECT_EQ(ops(b.graph), Names{"prim::exp"});
}

TEST_F(Conversions, ACopyThatLeavesThroughAViewStays) {
  const auto x = b.input(DType::f32, {2, 4});
  b.output(b.reshape(b.convert(x, DType::f32), {8}));
  EXPECT_EQ(drop_copies(b.graph), 0);
}

TEST_F(Conversions, ACopyStaysWhereAnExternReaderNeedsItsLayout) {
  const auto x = b.input(DType::f32, {2, 4});
  const auto copy = b.convert(b.permute(x, {1, 0}), DType::f32);
  b.output(b.external({copy}, DType::f32, {4, 2}));
  EXPECT_EQ(drop_copies(b.graph), 0);
}

TEST_F(Conversions, ACopyOfTheSameLayoutServesNoExternReader) {
  const auto x = b.input(DType::f32, {2, 4});
  b.output(b.external({b.convert(b.map("exp", x), DType::f32)}, DType::f32, {2, 4}));
  EXPECT_EQ(drop_copies(b.graph), 1);
}

TEST_F(Conversions, TwoCapturedHalfOperatorsBecomeOneFloatChain) {
  const auto x = b.input(DType::bf16, {4});
  const auto y = b.node("aten::exp", {ref("self", x)}, DType::bf16, {4});
  b.output(b.node("aten::neg", {ref("self", y)}, DType::bf16, {4}));
  const Result result = rewrite(b.graph, {});
  EXPECT_EQ(fired(result, "elide_conversions"), 1);
  EXPECT_EQ(ops(result.graph), (Names{"prim::convert", "prim::exp", "prim::neg", "prim::convert"}));
}

}  // namespace
}  // namespace cudaagent::rewrite
