// What the tests of schedules share: a plan proved against node-by-node evaluation, and graphs of well-known layers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/schedule.h"
#include "support/plan_runner.h"
#include "support/prim_builder.h"

namespace cudaagent::schedule {

using ir::ValueId;
using testing::PrimBuilder;

inline const Machine roomy{DeviceType::cpu, 2, 1 << 20};

inline Plan planned(const ir::Graph& graph, const Machine& machine = roomy) {
  ir::check(graph);
  Plan plan = schedule(graph, machine, {});
  EXPECT_EQ(testing::compare_plan(plan, 17), "") << ir::print(plan.graph);
  return plan;
}

inline std::vector<const Region*> of_kind(const Plan& plan, RegionKind kind) {
  std::vector<const Region*> found;
  for (const Region& region : plan.regions) {
    if (region.kind == kind) found.push_back(&region);
  }
  return found;
}

inline std::vector<const Region*> generated(const Plan& plan) { return of_kind(plan, RegionKind::generated); }

inline std::vector<std::int64_t> extents(const Body& body) {
  std::vector<std::int64_t> result;
  for (const Axis& axis : body.axes) result.push_back(axis.extent);
  return result;
}

inline ValueId mean(PrimBuilder& b, ValueId x, std::vector<std::int64_t> dims) {
  double count = 1;
  for (const std::int64_t d : dims) count *= static_cast<double>(b.dims(x)[static_cast<std::size_t>(d)]);
  return b.map("mul", b.reduce("sum", x, std::move(dims)), 1 / count);
}

// (x - mean) * rsqrt(var + eps) over `dims`
inline ValueId normalised(PrimBuilder& b, ValueId x, const std::vector<std::int64_t>& dims) {
  const ValueId centred = b.map("sub", x, mean(b, x, dims));
  const ValueId variance = mean(b, b.map("mul", centred, centred), dims);
  return b.map("mul", centred, b.map("rsqrt", b.map("add", variance, 1e-5)));
}

inline ValueId softmax(PrimBuilder& b, ValueId x, std::int64_t dim) {
  const ValueId e = b.map("exp", b.map("sub", x, b.reduce("max", x, {dim})));
  return b.map("div", e, b.reduce("sum", e, {dim}));
}

}  // namespace cudaagent::schedule
