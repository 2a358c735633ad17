#include "schedule/planned.h"

namespace cudaagent::schedule {
namespace {

TEST(Schedule, PointwiseChainOverContiguousMemoryIsOneAxis) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {4, 8, 5}), y = b.input(DType::f32, {4, 8, 5});
  b.output(b.map("exp", b.map("mul", b.map("add", x, y), 0.5)));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(extents(plan.regions[0].body), (std::vector<std::int64_t>{160}));
  EXPECT_EQ(plan.regions[0].body.stages, 1);
  EXPECT_EQ(bytes_moved(plan.regions[0].body), 3 * 160 * 4);
}

TEST(Schedule, BroadcastOperandsHaveStrideZero) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {4, 8, 6, 6}), bias = b.input(DType::f32, {8, 1, 1});
  const ValueId residual = b.input(DType::f32, {4, 8, 6, 6});
  b.output(b.map("max", b.map("add", b.map("add", x, bias), residual), 0.0));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  const Body& body = plan.regions[0].body;
  EXPECT_EQ(extents(body), (std::vector<std::int64_t>{4, 8, 36}));
  const auto load = std::find_if(body.insts.begin(), body.insts.end(), [&](const Inst& inst) {
    return inst.kind == InstKind::load && body.buffers[static_cast<std::size_t>(inst.access.buffer)].value == bias;
  });
  EXPECT_EQ(load->access.strides, (std::vector<std::int64_t>{0, 1, 0}));
}

TEST(Schedule, StepCountersShareALaunch) {
  PrimBuilder b;
  for (int i = 0; i < 5; ++i) {
    const ValueId steps = b.input(DType::i64, {}, ir::InputKind::buffer);
    b.graph.mutations.push_back(
        {steps,
         b.node("prim::add", {testing::ref("a", steps), testing::arg("b", Arg{std::int64_t{1}})}, DType::i64, {})});
    b.output(b.external({steps}, DType::f32, {4}));
  }
  EXPECT_EQ(generated(planned(b.graph)).size(), 1u);
}

TEST(Schedule, NoRegionWaitsForItselfThroughAnExtern) {
  PrimBuilder b;
  const ValueId y = b.map("exp", b.input(DType::f32, {4, 4}));
  const ValueId e = b.external({y}, DType::f32, {4, 4});
  b.output(b.map("add", y, e));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 3u);
  EXPECT_EQ(plan.regions[1].kind, RegionKind::external);
}

TEST(Schedule, ExternsKeepTheirOrder) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {40, 40});
  const ValueId first = b.map("exp", x);
  b.output(b.external({first}, DType::f32, {4}));
  const ValueId e = b.external({}, DType::f32, {40, 40});
  b.output(b.map("add", x, e));
  const Plan plan = planned(b.graph);
  const auto externals = of_kind(plan, RegionKind::external);
  ASSERT_EQ(externals.size(), 2u);
  EXPECT_LT(externals[0]->nodes[0], externals[1]->nodes[0]);
}

TEST(Schedule, MasksOfPositionsAreComputedInPlace) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {3, 6, 6});
  const ValueId at = b.iota({6}, 0, DType::i64);
  const ValueId causal = b.map("le", at, b.reshape(at, {6, 1}));
  const ValueId filled = b.full(-1e30, DType::f32, {});
  b.output(softmax(b, b.map("where", {causal, x, filled}), 2));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].inputs, std::vector<ValueId>{x});
}

TEST(Schedule, FractionalStepsAreCountedExactly) {
  PrimBuilder b;
  b.output(b.iota({11}, 0, DType::f32, Arg{0.25}, Arg{0.1}));
  b.output(b.map("mul", b.iota({5}, 0, DType::f32, Arg{2.0}, Arg{-3.0}), 2.0));
  EXPECT_EQ(generated(planned(b.graph)).size(), 2u);
}

TEST(Schedule, SmallFactorsAreComputedAgainTablesAreNot) {
  PrimBuilder cheap;
  const ValueId v = cheap.input(DType::f32, {8, 1});
  cheap.output(cheap.map("mul", cheap.input(DType::f32, {4, 8, 9}), cheap.map("rsqrt", cheap.map("add", v, 1e-5))));
  EXPECT_EQ(generated(planned(cheap.graph)).size(), 1u);
  PrimBuilder dear;
  const ValueId table = dear.map("mul", dear.map("sin", dear.input(DType::f32, {8, 9})), 2.0);
  dear.output(dear.map("mul", dear.input(DType::f32, {4, 8, 9}), dear.map("cos", table)));
  EXPECT_EQ(generated(planned(dear.graph)).size(), 2u);
}

TEST(Schedule, MutatedBuffersAreMaterialised) {
  PrimBuilder b;
  const ValueId running = b.input(DType::f32, {5}, ir::InputKind::buffer), x = b.input(DType::f32, {7, 5});
  const ValueId updated = b.map("add", b.map("mul", running, 0.9), b.reduce("sum", x, {0}, false));
  b.graph.mutations.push_back({running, updated});
  b.output(b.map("neg", updated));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].outputs.size(), 2u);
}

TEST(Schedule, DeadPrimitivesVanishExternsStay) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {4});
  b.map("exp", x);
  b.external({x}, DType::f32, {4});
  b.output(b.map("neg", x));
  EXPECT_EQ(planned(b.graph).regions.size(), 2u);
}

TEST(Schedule, AThousandNodesInAChainAreOneRegion) {
  PrimBuilder b;
  ValueId x = b.input(DType::f32, {64, 8}), y = b.input(DType::f32, {8});
  for (int i = 0; i < 500; ++i) x = b.map("tanh", b.map("add", x, y));
  b.output(x);
  EXPECT_EQ(generated(planned(b.graph)).size(), 1u);
}

}  // namespace
}  // namespace cudaagent::schedule
