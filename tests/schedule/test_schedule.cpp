#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "support/plan_runner.h"
#include "support/prim_builder.h"

namespace cudaagent::schedule {
namespace {

using ir::ValueId;
using testing::PrimBuilder;

const Machine roomy{DeviceType::cpu, 2, 1 << 20};

Plan planned(const ir::Graph& graph, const Machine& machine = roomy) {
  ir::check(graph);
  Plan plan = schedule(graph, machine, {});
  EXPECT_EQ(testing::compare_plan(plan, 17), "") << ir::print(plan.graph);
  return plan;
}

std::vector<const Region*> of_kind(const Plan& plan, RegionKind kind) {
  std::vector<const Region*> found;
  for (const Region& region : plan.regions) {
    if (region.kind == kind) found.push_back(&region);
  }
  return found;
}

std::vector<const Region*> generated(const Plan& plan) { return of_kind(plan, RegionKind::generated); }

std::vector<std::int64_t> extents(const Body& body) {
  std::vector<std::int64_t> result;
  for (const Axis& axis : body.axes) result.push_back(axis.extent);
  return result;
}

ValueId mean(PrimBuilder& b, ValueId x, std::vector<std::int64_t> dims) {
  double count = 1;
  for (const std::int64_t d : dims) count *= static_cast<double>(b.dims(x)[static_cast<std::size_t>(d)]);
  return b.map("mul", b.reduce("sum", x, std::move(dims)), 1 / count);
}

// (x - mean) * rsqrt(var + eps) over `dims`
ValueId normalised(PrimBuilder& b, ValueId x, const std::vector<std::int64_t>& dims) {
  const ValueId centred = b.map("sub", x, mean(b, x, dims));
  const ValueId variance = mean(b, b.map("mul", centred, centred), dims);
  return b.map("mul", centred, b.map("rsqrt", b.map("add", variance, 1e-5)));
}

ValueId softmax(PrimBuilder& b, ValueId x, std::int64_t dim) {
  const ValueId e = b.map("exp", b.map("sub", x, b.reduce("max", x, {dim})));
  return b.map("div", e, b.reduce("sum", e, {dim}));
}

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

TEST(Schedule, ViewsBetweenPointwiseNodesVanish) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {2, 12, 5});
  const ValueId heads = b.permute(b.reshape(b.map("neg", x), {2, 3, 4, 5}), {0, 2, 1, 3});
  b.output(b.map("exp", b.reshape(heads, {2, 4, 15})));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].nodes.size(), 5u);
}

TEST(Schedule, GroupingsThatDoNotNestSplitTheRegion) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {2, 6});
  const ValueId t = b.map("exp", b.permute(x, {1, 0}));
  b.output(b.map("neg", b.reshape(t, {4, 3})));
  EXPECT_EQ(generated(planned(b.graph)).size(), 2u);
}

TEST(Schedule, AMatrixMeetsItsTransposeInOneRegionWhenRead) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {6, 6});
  b.output(b.map("add", x, b.permute(x, {1, 0})));
  EXPECT_EQ(generated(planned(b.graph)).size(), 1u);
}

TEST(Schedule, AMatrixMeetsItsTransposeInTwoRegionsWhenComputed) {
  PrimBuilder b;
  const ValueId y = b.map("exp", b.input(DType::f32, {6, 6}));
  b.output(b.map("add", y, b.permute(y, {1, 0})));
  EXPECT_EQ(generated(planned(b.graph)).size(), 2u);
}

TEST(Schedule, SoftmaxOverAMiddleDimIsOneRegionOfThreeStages) {
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

TEST(Schedule, LayerNormIsOneRegion) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {3, 4, 10}), w = b.input(DType::f32, {10}), bias = b.input(DType::f32, {10});
  b.output(b.map("add", b.map("mul", normalised(b, x, {2}), w), bias));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(extents(plan.regions[0].body), (std::vector<std::int64_t>{12, 10}));
  EXPECT_EQ(plan.regions[0].body.stages, 3);
}

TEST(Schedule, GroupNormRefinesTheChannels) {
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

TEST(Schedule, BatchNormInTrainingSharesTheRowWithItsAffine) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {3, 4, 5, 5}), w = b.input(DType::f32, {1, 4, 1, 1});
  b.output(b.map("mul", normalised(b, x, {0, 2, 3}), w));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].body.kept(), 4);
}

TEST(Schedule, ALongRowOnFewRowsIsSplitByStages) {
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

TEST(Schedule, ALongRowOnManyRowsStaysFused) {
  PrimBuilder b;
  b.output(softmax(b, b.input(DType::f32, {300, 512}), 1));
  EXPECT_EQ(generated(planned(b.graph, {DeviceType::cuda, 132, 1024})).size(), 1u);
}

TEST(Schedule, ColumnSumKeepsTheFastAxis) {
  PrimBuilder b;
  b.output(b.reduce("sum", b.map("mul", b.input(DType::f32, {7, 5}), 2.0), {0}, false));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(extents(plan.regions[0].body), (std::vector<std::int64_t>{5, 7}));
}

TEST(Schedule, SiblingsReadTheirInputOnce) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {40, 50});
  b.output(b.reduce("sum", x, {1}));
  b.output(b.reduce("max", x, {1}));
  b.output(b.map("exp", x));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].outputs.size(), 3u);
}

TEST(Schedule, StepCountersShareALaunch) {
  PrimBuilder b;
  for (int i = 0; i < 5; ++i) {
    const ValueId steps = b.input(DType::i64, {}, ir::InputKind::buffer);
    b.graph.mutations.push_back({steps, b.node("prim::add", {testing::ref("a", steps), testing::arg("b", Arg{std::int64_t{1}})}, DType::i64, {})});
    b.output(b.external({steps}, DType::f32, {4}));
  }
  EXPECT_EQ(generated(planned(b.graph)).size(), 1u);
}

TEST(Schedule, ReductionsOverDifferentAxesStayApart) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {40, 40});
  b.output(b.reduce("sum", x, {1}));
  b.output(b.reduce("sum", x, {0}));
  EXPECT_EQ(generated(planned(b.graph)).size(), 2u);
}

TEST(Schedule, EpilogueOnAnotherTensorWalksTheReducedAxes) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {6, 9}), y = b.input(DType::f32, {6, 9});
  b.output(b.map("sub", y, mean(b, x, {1})));
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

TEST(Schedule, AViewForAnExternIsAViewRegion) {
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

TEST(Schedule, AViewThatStridesCannotSayIsACopyFusedWithItsProducer) {
  PrimBuilder b;
  const ValueId y = b.map("exp", b.input(DType::f32, {2, 3, 4, 5}));
  b.output(b.external({b.reshape(b.permute(y, {0, 2, 1, 3}), {2, 4, 15})}, DType::f32, {3}));
  const Plan plan = planned(b.graph);
  EXPECT_EQ(generated(plan).size(), 1u);
  EXPECT_TRUE(of_kind(plan, RegionKind::view).empty());
}

TEST(Schedule, AnOutputThatAliasesAnInputIsAView) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {3, 4});
  b.graph.outputs.push_back({b.permute(x, {1, 0}), {}, x});
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].kind, RegionKind::view);
  EXPECT_EQ(plan.regions[0].view_of, x);
}

TEST(Schedule, HalvesOfAReadValueMeetInOneRegion) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {4, 16});
  b.output(b.map("mul", b.slice(x, 1, 0, 1, 8), b.map("sigmoid", b.slice(x, 1, 8, 1, 8))));
  const Plan plan = planned(b.graph);
  ASSERT_EQ(plan.regions.size(), 1u);
  EXPECT_EQ(plan.regions[0].inputs.size(), 1u);
  EXPECT_EQ(bytes_moved(plan.regions[0].body), (64 + 32) * 4);
}

TEST(Schedule, ASliceOfAComputedValueIsABorder) {
  PrimBuilder b;
  const ValueId y = b.map("exp", b.input(DType::f32, {4, 16}));
  b.output(b.map("neg", b.slice(y, 1, 3, 2, 5)));
  EXPECT_EQ(generated(planned(b.graph)).size(), 2u);
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

TEST(Schedule, ArgmaxCountsInLogicalOrderWhateverTheMemory) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {3, 4, 5});
  b.output(b.reduce("argmax", b.reshape(b.permute(x, {0, 2, 1}), {3, 20}), {1}, false));
  b.output(b.reduce("argmin", x, {1}, false));
  planned(b.graph);
}

TEST(Schedule, AReductionOfABroadcastValueTakesEveryElement) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {4, 1});
  b.output(b.reduce("sum", b.expand(b.map("exp", x), {4, 8}), {1}));
  b.output(b.reduce("sum", b.full(2.0, DType::f32, {4, 8}), {1}));
  planned(b.graph);
}

TEST(Schedule, ReductionsOverOneElementAreMaps) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {4, 1});
  for (const char* kind : {"sum", "argmax", "any"}) b.output(b.reduce(kind, x, {1}, false));
  const Plan plan = planned(b.graph);
  for (const Region* region : generated(plan)) EXPECT_FALSE(region->body.has_reduction());
}

TEST(Schedule, EmptyTensorsGiveIdentities) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {0, 4});
  b.output(b.map("exp", x));
  b.output(b.reduce("sum", b.map("neg", x), {0}, false));
  b.output(b.reduce("prod", x, {0, 1}, false));
  b.output(b.reshape(x, {4, 0}));
  planned(b.graph);
}

TEST(Schedule, ChannelsLastStays) {
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

TEST(Schedule, TheLayoutCapturedWins) {
  PrimBuilder b;
  const ValueId y = b.map("exp", b.input(DType::f32, {2, 3}));
  ir::Value& value = b.graph.values[static_cast<std::size_t>(y)];
  value.origin = 1;
  value.type.strides = {1, 2};
  b.output(y);
  EXPECT_EQ(planned(b.graph).graph.type(y).strides, (std::vector<std::int64_t>{1, 2}));
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

TEST(BuildBody, SaysWhyThereIsNone) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {4, 5});
  const ValueId rows = b.reduce("sum", x, {1}), columns = b.reduce("sum", x, {0});
  const auto body = build_body(b.graph, {0, 1}, {rows, columns});
  ASSERT_FALSE(body.ok());
  EXPECT_EQ(body.rejection().stage, "schedule");
}

TEST(BuildBody, JsonRoundTripKeepsTheFingerprint) {
  PrimBuilder b;
  const ValueId y = softmax(b, b.input(DType::f16, {4, 5}), 1);
  const Body body = build_body(b.graph, {0, 1, 2, 3, 4}, {y}).value();
  const Json json = body;
  const Body back = Json::parse(json.dump()).get<Body>();
  EXPECT_EQ(fingerprint(back), fingerprint(body));
  EXPECT_EQ(Json(back), json);
}

TEST(BuildBody, FingerprintForgetsValueIds) {
  PrimBuilder a, b;
  b.input(DType::f32, {1});
  const ValueId x = a.input(DType::f32, {4}), y = b.input(DType::f32, {4});
  const auto one = build_body(a.graph, {0}, {(a.map("exp", x), a.graph.nodes[0].outputs[0])}).value();
  const auto two = build_body(b.graph, {0}, {(b.map("exp", y), b.graph.nodes[0].outputs[0])}).value();
  EXPECT_EQ(fingerprint(one), fingerprint(two));
}

}  // namespace
}  // namespace cudaagent::schedule
