// Which compute nodes share a region: greedy merging in topological order, each merge proved by building its body.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "schedule/body_builder.h"
#include "schedule/dataflow.h"

namespace cudaagent::schedule {

/// Compute nodes that become one generated region.
struct Group {
  std::vector<std::int32_t> nodes;   ///< ascending
  std::vector<ir::ValueId> outputs;  ///< read outside the group, in the order they are made
  BuiltBody built;
};

class Fusion {
 public:
  static constexpr std::size_t most_insts = 2000;

  Fusion(Dataflow& flow, const Machine& machine) : flow_(flow), machine_(machine) {}

  /// Every compute node in exactly one group.
  std::vector<Group> run();

 private:
  using GroupId = std::int32_t;

  void make_single(std::int32_t n);
  bool merge_with_producers(std::size_t most_nodes);
  void merge_siblings();
  void merge_scalars();
  bool try_merge(GroupId a, GroupId b);
  bool is_sibling(const Group& a, const Group& b, ir::ValueId input) const;
  bool is_allowed(const Body& body) const;
  bool path_through_others(GroupId from, GroupId to) const;
  std::vector<ir::ValueId> outputs_of(const std::vector<std::int32_t>& nodes) const;

  Group& group(GroupId id) { return groups_[static_cast<std::size_t>(id)]; }
  const Group& group(GroupId id) const { return groups_[static_cast<std::size_t>(id)]; }
  GroupId group_of(std::int32_t n) const { return group_of_[static_cast<std::size_t>(n)]; }

  Dataflow& flow_;
  const Machine& machine_;
  std::vector<Group> groups_;  ///< a merge makes a new one and empties the two
  std::vector<GroupId> group_of_;
  std::vector<std::int32_t> next_external_;  ///< per node: the next node that must keep its order
  std::set<std::pair<GroupId, GroupId>> refused_;
};

}  // namespace cudaagent::schedule
