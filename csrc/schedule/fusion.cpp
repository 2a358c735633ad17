#include "schedule/fusion.h"

#include <algorithm>
#include <array>

namespace cudaagent::schedule {

using ir::ValueId;

namespace {

// Proving a merge costs time in proportion to its nodes, so long chains are first merged in pieces.
constexpr std::array<std::size_t, 4> piece_nodes = {48, 200, 700, Fusion::most_insts};
// Siblings this many nodes apart are left alone: their results would live too long.
constexpr std::int32_t most_sibling_distance = 100;

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

std::vector<Group> Fusion::run() {
  const std::size_t count = flow_.graph().nodes.size();
  group_of_.assign(count, -1);
  next_external_.assign(count, -1);
  const std::vector<std::int32_t>& externals = flow_.externals();
  for (std::size_t e = 0; e + 1 < externals.size(); ++e) next_external_[at(externals[e])] = externals[e + 1];

  // A copy among a node's operands becomes a compute node of its own, so later nodes see it.
  for (std::size_t n = 0; n < count; ++n) {
    const auto node = static_cast<std::int32_t>(n);
    if (flow_.role(node) == Role::compute && !build(flow_, {node}, {flow_.node(node).outputs[0]})) {
      flow_.copy_operands(node);
    }
  }
  flow_.connect();
  for (std::size_t n = 0; n < count; ++n) {
    if (flow_.role(static_cast<std::int32_t>(n)) == Role::compute) make_single(static_cast<std::int32_t>(n));
  }
  for (const std::size_t most_nodes : piece_nodes) {
    while (merge_with_producers(most_nodes)) {
    }
  }
  merge_siblings();
  merge_scalars();
  while (merge_with_producers(most_insts)) {
  }
  std::vector<Group> result;
  for (Group& made : groups_) {
    if (!made.nodes.empty()) result.push_back(std::move(made));
  }
  return result;
}

void Fusion::make_single(std::int32_t n) {
  Group single{{n}, {flow_.node(n).outputs[0]}, {}};
  Outcome<BuiltBody> built = build(flow_, single.nodes, single.outputs);
  if (!built) {
    throw InternalError("schedule: " + flow_.node(n).op + " cannot stand alone: " + built.rejection().reason);
  }
  single.built = std::move(built.value());
  group_of_[at(n)] = static_cast<GroupId>(groups_.size());
  groups_.push_back(std::move(single));
}

bool Fusion::merge_with_producers(std::size_t most_nodes) {
  bool merged = false;
  for (std::size_t n = 0; n < group_of_.size(); ++n) {
    if (group_of_[n] < 0) continue;
    std::vector<std::int32_t> makers;
    for (const ValueId read : flow_.reads(static_cast<std::int32_t>(n))) {
      const std::int32_t maker = flow_.producer(read);
      if (maker >= 0 && group_of(maker) >= 0) makers.push_back(maker);
    }
    // The nearest first: its value is the warmest.
    std::sort(makers.rbegin(), makers.rend());
    for (const std::int32_t maker : makers) {
      const GroupId a = group_of(maker), b = group_of_[n];
      if (a == b || group(a).nodes.size() + group(b).nodes.size() > most_nodes) continue;
      merged = try_merge(a, b) || merged;
    }
  }
  return merged;
}

void Fusion::merge_siblings() {
  for (std::size_t v = 0; v < flow_.graph().values.size(); ++v) {
    const auto input = static_cast<ValueId>(v);
    const std::vector<std::int32_t>& readers = flow_.readers(input);
    for (std::size_t i = 1; i < readers.size(); ++i) {
      for (std::size_t j = i; j-- > 0 && readers[i] - readers[j] <= most_sibling_distance;) {
        const GroupId a = group_of(readers[j]), b = group_of(readers[i]);
        if (a < 0 || b < 0 || a == b || !is_sibling(group(a), group(b), input)) continue;
        try_merge(std::min(a, b), std::max(a, b));
      }
    }
  }
}

// Work on single elements (the step counters of batch norms) shares a launch whatever it reads.
void Fusion::merge_scalars() {
  GroupId collected = -1;
  for (std::size_t n = 0; n < group_of_.size(); ++n) {
    const GroupId mine = group_of_[n];
    if (mine < 0 || mine == collected || group(mine).built.body.kept() != 1) continue;
    if (group(mine).built.body.has_reduction()) continue;
    const bool merged = collected >= 0 && try_merge(std::min(collected, mine), std::max(collected, mine));
    collected = merged ? group_of_[n] : mine;
  }
}

bool Fusion::try_merge(GroupId a, GroupId b) {
  if (refused_.count({a, b})) return false;
  Group merged;
  std::merge(group(a).nodes.begin(), group(a).nodes.end(), group(b).nodes.begin(), group(b).nodes.end(),
             std::back_inserter(merged.nodes));
  const auto device = [&](GroupId id) { return flow_.graph().type(group(id).outputs[0]).device; };
  const bool possible = device(a) == device(b) && merged.nodes.size() <= most_insts && !path_through_others(a, b) &&
                        !path_through_others(b, a);
  if (possible) {
    merged.outputs = outputs_of(merged.nodes);
    Outcome<BuiltBody> built = build(flow_, merged.nodes, merged.outputs);
    if (built && !merged.outputs.empty() && is_allowed(built.value().body)) {
      merged.built = std::move(built.value());
      const auto id = static_cast<GroupId>(groups_.size());
      for (const std::int32_t n : merged.nodes) group_of_[at(n)] = id;
      group(a) = group(b) = Group{};
      groups_.push_back(std::move(merged));
      return true;
    }
  }
  refused_.emplace(a, b);
  return false;
}

}  // namespace cudaagent::schedule
