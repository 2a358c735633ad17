#include "schedule/planned.h"

namespace cudaagent::schedule {
namespace {

TEST(Views, ViewsBetweenPointwiseNodesVanish) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {2, 12, 5});
  const ValueId heads = b.permute(b.reshape(b.map("neg", x), {2, 3, 4, 5}), {0, 2, 1, 3});
  b.output(b.map("exp", b.reshape(heads, {2, 4, 15})));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].nodes.size(), 5u);
}

TEST(Views, GroupingsThatDoNotNestSplitTheRegion) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {2, 6});
  const ValueId t = b.map("exp", b.permute(x, {1, 0}));
  b.output(b.map("neg", b.reshape(t, {4, 3})));
  EXPECT_EQ(generated(planned(b.graph)).size(), 2u);
}

TEST(Views, AMatrixMeetsItsTransposeInOneRegionWhenRead) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {6, 6});
  b.output(b.map("add", x, b.permute(x, {1, 0})));
  EXPECT_EQ(generated(planned(b.graph)).size(), 1u);
}

TEST(Views, AMatrixMeetsItsTransposeInTwoRegionsWhenComputed) {
  PrimBuilder b;
  const ValueId y = b.map("exp", b.input(DType::f32, {6, 6}));
  b.output(b.map("add", y, b.permute(y, {1, 0})));
  EXPECT_EQ(generated(planned(b.graph)).size(), 2u);
}

TEST(Views, AViewForAnExternIsAViewRegion) {
  PrimBuilder b;
  const ValueId y = b.map("exp", b.input(DType::f32, {2, 12, 5}));
  const ValueId heads = b.permute(b.reshape(y, {2, 3, 4, 5}), {0, 2, 1, 3});
  b.output(b.external({b.slice(heads, 1, 1, 2, 2)}, DType::f32, {3}));
  const Plan plan = planned(b.graph);
  const auto views = of_kind(plan, RegionKind::view);
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0]->view_of, y);
  EXPECT_EQ(views[0]->view_offset, 5);
  EXPECT_EQ(plan.graph.type(views[0]->outputs[0]).strides, (std::vector<std::int64_t>{60, 10, 20, 1}));
}

TEST(Views, AViewThatStridesCannotSayIsACopyFusedWithItsProducer) {
  PrimBuilder b;
  const ValueId y = b.map("exp", b.input(DType::f32, {2, 3, 4, 5}));
  b.output(b.external({b.reshape(b.permute(y, {0, 2, 1, 3}), {2, 4, 15})}, DType::f32, {3}));
  const Plan plan = planned(b.graph);
  EXPECT_EQ(generated(plan).size(), 1u);
  EXPECT_TRUE(of_kind(plan, RegionKind::view).empty());
}

TEST(Views, AnOutputThatAliasesAnInputIsAView) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {3, 4});
  b.graph.outputs.push_back({b.permute(x, {1, 0}), {}, x});
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].kind, RegionKind::view);
  EXPECT_EQ(plan.regions[0].view_of, x);
}

TEST(Views, HalvesOfAReadValueMeetInOneRegion) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {4, 16});
  b.output(b.map("mul", b.slice(x, 1, 0, 1, 8), b.map("sigmoid", b.slice(x, 1, 8, 1, 8))));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].inputs.size(), 1u);
  EXPECT_EQ(bytes_moved(plan.regions[0].body), (64 + 32) * 4);
}

TEST(Views, ASliceOfAComputedValueIsABorder) {
  PrimBuilder b;
  const ValueId y = b.map("exp", b.input(DType::f32, {4, 16}));
  b.output(b.map("neg", b.slice(y, 1, 3, 2, 5)));
  EXPECT_EQ(generated(planned(b.graph)).size(), 2u);
}

TEST(Views, ChannelsLastStays) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {2, 3, 4, 4});
  const std::vector<std::int64_t> last = {48, 1, 12, 3};
  b.graph.values[static_cast<std::size_t>(x)].type.strides = last;
  const ValueId y = b.map("exp", x);
  b.output(y);
  const Plan plan = planned(b.graph);
  EXPECT_EQ(plan.graph.type(y).strides, last);
  EXPECT_EQ(plan.regions[0].body.axes.size(), 1u);
}

TEST(Views, TheLayoutCapturedWins) {
  PrimBuilder b;
  const ValueId y = b.map("exp", b.input(DType::f32, {2, 3}));
  ir::Value& value = b.graph.values[static_cast<std::size_t>(y)];
  value.origin = 1;
  value.type.strides = {1, 2};
  b.output(y);
  EXPECT_EQ(planned(b.graph).graph.type(y).strides, (std::vector<std::int64_t>{1, 2}));
}

}  // namespace
}  // namespace cudaagent::schedule
