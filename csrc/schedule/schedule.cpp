#include "schedule/schedule.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "schedule/fusion.h"
#include "schedule/naming.h"

namespace cudaagent::schedule {

using ir::ValueId;

namespace {

Region external_region(const Dataflow& flow, std::int32_t n) {
  Region region;
  region.kind = RegionKind::external;
  region.nodes = {n};
  for (const ValueId read : references(flow.node(n).args)) {
    if (std::find(region.inputs.begin(), region.inputs.end(), read) == region.inputs.end())
      region.inputs.push_back(read);
  }
  for (const ValueId output : flow.node(n).outputs) {
    if (output != ir::no_value) region.outputs.push_back(output);
  }
  return region;
}

Region view_region(const Dataflow& flow, std::int32_t n) {
  const ValueId value = flow.node(n).outputs[0];
  const Place place = flow.place(value);
  Region region;
  region.kind = RegionKind::view;
  for (ValueId v = value; v != place.base; v = references(flow.node(flow.producer(v)).args)[0]) {
    region.nodes.push_back(flow.producer(v));
  }
  std::reverse(region.nodes.begin(), region.nodes.end());
  region.inputs = {place.base};
  region.outputs = {value};
  region.view_of = place.base;
  region.view_offset = place.view->offset;
  return region;
}

Region generated_region(Group group) {
  Region region;
  region.kind = RegionKind::generated;
  std::merge(group.nodes.begin(), group.nodes.end(), group.built.inlined.begin(), group.built.inlined.end(),
             std::back_inserter(region.nodes));
  region.body = std::move(group.built.body);
  for (const Buffer& buffer : region.body.buffers)
    (buffer.output ? region.outputs : region.inputs).push_back(buffer.value);
  region.fingerprint = fingerprint(region.body);
  region.name = kernel_name(region.body, region.fingerprint);
  return region;
}

/// Regions in an order that runs, each as early as its last node stood in the graph; external ones keep their order.
std::vector<Region> in_order(std::vector<Region> regions) {
  std::map<ValueId, std::size_t> maker;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    for (const ValueId output : regions[r].outputs) maker[output] = r;
  }
  std::vector<std::vector<std::size_t>> waiters(regions.size());
  std::vector<std::size_t> missing(regions.size(), 0);
  const auto wait = [&](std::size_t first, std::size_t second) {
    waiters[first].push_back(second);
    ++missing[second];
  };
  std::map<std::int32_t, std::size_t> externals;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    for (const ValueId input : regions[r].inputs) {
      if (maker.count(input)) wait(maker[input], r);
    }
    if (regions[r].kind == RegionKind::external) externals[regions[r].nodes[0]] = r;
  }
  for (auto it = externals.begin(); it != externals.end() && std::next(it) != externals.end(); ++it) {
    wait(it->second, std::next(it)->second);
  }
  using Ready = std::pair<std::int32_t, std::size_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    if (missing[r] == 0) ready.emplace(regions[r].nodes.back(), r);
  }
  std::vector<Region> ordered;
  while (!ready.empty()) {
    const std::size_t r = ready.top().second;
    ready.pop();
    for (const std::size_t waiter : waiters[r]) {
      if (--missing[waiter] == 0) ready.emplace(regions[waiter].nodes.back(), waiter);
    }
    ordered.push_back(std::move(regions[r]));
  }
  if (ordered.size() != regions.size()) throw InternalError("schedule: regions wait for each other");
  return ordered;
}

}  // namespace

Plan schedule(ir::Graph graph, const Machine& machine, const Options& options) {
  Plan plan;
  plan.graph = std::move(graph);
  Dataflow flow(plan.graph);
  std::vector<Region> regions;
  for (Group& group : Fusion(flow, machine).run()) regions.push_back(generated_region(std::move(group)));
  for (std::size_t i = 0; i < plan.graph.nodes.size(); ++i) {
    const auto n = static_cast<std::int32_t>(i);
    if (flow.role(n) == Role::external) regions.push_back(external_region(flow, n));
    if (flow.role(n) == Role::view) regions.push_back(view_region(flow, n));
  }
  plan.regions = in_order(std::move(regions));
  return plan;
}

Outcome<Body> build_body(const ir::Graph& graph, const std::vector<std::int32_t>& nodes,
                         const std::vector<ValueId>& outputs) {
  ir::Graph copy = graph;
  const Dataflow flow(copy, {outputs.begin(), outputs.end()});
  std::vector<std::int32_t> computed;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(computed),
               [&](std::int32_t n) { return flow.role(n) == Role::compute; });
  if (computed.empty()) return Rejection{"schedule", "none of the nodes computes anything", ""};
  Outcome<BuiltBody> built = build(flow, computed, outputs);
  if (!built) return built.rejection();
  return std::move(built.value().body);
}

}  // namespace cudaagent::schedule
