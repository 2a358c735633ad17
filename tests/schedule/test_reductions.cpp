#include "schedule/planned.h"

namespace cudaagent::schedule {
namespace {

TEST(Reductions, SoftmaxOverAMiddleDimIsOneRegionOfThreeStages) {
  PrimBuilder b;
  b.output(softmax(b, b.map("mul", b.input(DType::f32, {3, 7, 5}), 2.0), 1));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  const Body& body = plan.regions[0].body;
  EXPECT_EQ(body.stages, 3);
  EXPECT_EQ(body.kept(), 15);
  EXPECT_EQ(body.reduced(), 7);
  EXPECT_EQ(plan.regions[0].name.rfind("ca_columns_softmax_", 0), 0u) << plan.regions[0].name;
}

TEST(Reductions, LayerNormIsOneRegion) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {3, 4, 10}), w = b.input(DType::f32, {10}), bias = b.input(DType::f32, {10});
  b.output(b.map("add", b.map("mul", normalised(b, x, {2}), w), bias));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(extents(plan.regions[0].body), (std::vector<std::int64_t>{12, 10}));
  EXPECT_EQ(plan.regions[0].body.stages, 3);
}

TEST(Reductions, GroupNormRefinesTheChannels) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {2, 6, 4, 4}), w = b.input(DType::f32, {6, 1, 1});
  const ValueId grouped = normalised(b, b.reshape(x, {2, 3, 32}), {2});
  b.output(b.map("mul", b.reshape(grouped, {2, 6, 4, 4}), w));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  const Body& body = plan.regions[0].body;
  EXPECT_EQ(body.kept(), 6);
  EXPECT_EQ(extents(body), (std::vector<std::int64_t>{2, 3, 2, 16}));
}

TEST(Reductions, BatchNormInTrainingSharesTheRowWithItsAffine) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {3, 4, 5, 5}), w = b.input(DType::f32, {1, 4, 1, 1});
  b.output(b.map("mul", normalised(b, x, {0, 2, 3}), w));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].body.kept(), 4);
}

TEST(Reductions, ALongRowOnFewRowsIsSplitByStages) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {2, 4096});
  b.output(b.map("exp", normalised(b, b.map("mul", x, 2.0), {1})));
  const Plan plan = planned(b.graph, {DeviceType::cuda, 132, 1024});
  EXPECT_GE(generated(plan).size(), 3u);
  for (const Region* region : generated(plan)) {
    for (const Inst& inst : region->body.insts) {
      EXPECT_TRUE(inst.stage == 0 || (!inst.element && inst.kind != InstKind::reduce));
    }
  }
}

TEST(Reductions, ALongRowOnManyRowsStaysFused) {
  PrimBuilder b;
  b.output(softmax(b, b.input(DType::f32, {300, 512}), 1));
  EXPECT_EQ(generated(planned(b.graph, {DeviceType::cuda, 132, 1024})).size(), 1u);
}

TEST(Reductions, ColumnSumKeepsTheFastAxis) {
  PrimBuilder b;
  b.output(b.reduce("sum", b.map("mul", b.input(DType::f32, {7, 5}), 2.0), {0}, false));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(extents(plan.regions[0].body), (std::vector<std::int64_t>{5, 7}));
}

TEST(Reductions, SiblingsReadTheirInputOnce) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {40, 50});
  b.output(b.reduce("sum", x, {1}));
  b.output(b.reduce("max", x, {1}));
  b.output(b.map("exp", x));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].outputs.size(), 3u);
}

TEST(Reductions, ReductionsOverDifferentAxesStayApart) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {40, 40});
  b.output(b.reduce("sum", x, {1}));
  b.output(b.reduce("sum", x, {0}));
  EXPECT_EQ(generated(planned(b.graph)).size(), 2u);
}

TEST(Reductions, EpilogueOnAnotherTensorWalksTheReducedAxes) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {6, 9}), y = b.input(DType::f32, {6, 9});
  b.output(b.map("sub", y, mean(b, x, {1})));
  EXPECT_EQ(generated(planned(b.graph)).size(), 1u);
}

TEST(Reductions, ArgmaxCountsInLogicalOrderWhateverTheMemory) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {3, 4, 5});
  b.output(b.reduce("argmax", b.reshape(b.permute(x, {0, 2, 1}), {3, 20}), {1}, false));
  b.output(b.reduce("argmin", x, {1}, false));
  planned(b.graph);
}

TEST(Reductions, AReductionOfABroadcastValueTakesEveryElement) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {4, 1});
  b.output(b.reduce("sum", b.expand(b.map("exp", x), {4, 8}), {1}));
  b.output(b.reduce("sum", b.full(2.0, DType::f32, {4, 8}), {1}));
  planned(b.graph);
}

TEST(Reductions, ReductionsOverOneElementAreMaps) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {4, 1});
  for (const char* kind : {"sum", "argmax", "any"}) b.output(b.reduce(kind, x, {1}, false));
  const Plan plan = planned(b.graph);
  for (const Region* region : generated(plan)) EXPECT_FALSE(region->body.has_reduction());
}

TEST(Reductions, EmptyTensorsGiveIdentities) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {0, 4});
  b.output(b.map("exp", x));
  b.output(b.reduce("sum", b.map("neg", x), {0}, false));
  b.output(b.reduce("prod", x, {0, 1}, false));
  b.output(b.reshape(x, {4, 0}));
  planned(b.graph);
}

}  // namespace
}  // namespace cudaagent::schedule
