#include "pipeline_claims.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace cudaagent {

namespace {

using ir::ValueId;
using schedule::Region;
using schedule::RegionKind;

// Regions joined by a value that the captured graph does not have.
class Groups {
 public:
  explicit Groups(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  std::int32_t find(std::int32_t i) {
    while (parent_[static_cast<std::size_t>(i)] != i) i = parent_[static_cast<std::size_t>(i)];
    return i;
  }
  void join(std::int32_t a, std::int32_t b) {
    parent_[static_cast<std::size_t>(std::max(find(a), find(b)))] = std::min(find(a), find(b));
  }

 private:
  std::vector<std::int32_t> parent_;
};

ValueId origin(const schedule::Plan& plan, ValueId value) {
  return plan.graph.values.at(static_cast<std::size_t>(value)).origin;
}

std::map<std::int32_t, std::vector<std::int32_t>> members(const schedule::Plan& plan) {
  Groups groups(plan.regions.size());
  std::map<ValueId, std::int32_t> maker;
  for (std::size_t r = 0; r < plan.regions.size(); ++r) {
    const Region& region = plan.regions[r];
    if (region.kind != RegionKind::generated) continue;
    for (const ValueId in : region.inputs) {
      if (origin(plan, in) == ir::no_value && maker.count(in)) groups.join(maker[in], static_cast<std::int32_t>(r));
    }
    for (const ValueId out : region.outputs) maker[out] = static_cast<std::int32_t>(r);
  }
  std::map<std::int32_t, std::vector<std::int32_t>> result;
  for (std::size_t r = 0; r < plan.regions.size(); ++r) {
    if (plan.regions[r].kind == RegionKind::generated) {
      result[groups.find(static_cast<std::int32_t>(r))].push_back(static_cast<std::int32_t>(r));
    }
  }
  return result;
}

// The value by which output `out` is known to the captured graph: itself, or a view of its whole memory, as where a
// decomposition ends in a reshape. no_value when there is none.
ValueId counterpart(const schedule::Plan& plan, ValueId out) {
  if (origin(plan, out) != ir::no_value) return out;
  for (const Region& region : plan.regions) {
    if (region.kind != RegionKind::view || region.view_of != out || region.view_offset != 0) continue;
    for (const ValueId view : region.outputs) {
      const TensorType &whole = plan.graph.type(out), &seen = plan.graph.type(view);
      const bool same_memory =
          whole.dtype == seen.dtype && whole.numel() == seen.numel() && whole.span() == seen.span();
      if (same_memory && whole.numel() == whole.span() && origin(plan, view) != ir::no_value) return view;
    }
  }
  return ir::no_value;
}

void collect_values(const schedule::Plan& plan, ProofGroup& group) {
  std::set<ValueId> made, read;
  for (const std::int32_t r : group.regions) {
    const Region& region = plan.regions[static_cast<std::size_t>(r)];
    for (const ValueId in : region.inputs) {
      if (!made.count(in) && read.insert(in).second) group.inputs.push_back(in);
    }
    for (const ValueId out : region.outputs) {
      made.insert(out);
      const ValueId claimed = counterpart(plan, out);
      if (claimed == ir::no_value) continue;
      group.outputs.push_back(out);
      group.claimed.push_back(claimed);
    }
  }
  if (group.outputs.empty()) group.untestable = "no output exists in the captured graph";
}

// The captured nodes between the group's inputs and its outputs, or why they cannot be told apart from the rest.
void find_truth(const ir::Graph& captured, const schedule::Plan& plan, const std::vector<std::int32_t>& producer,
                ProofGroup& group) {
  std::set<ValueId> border;
  for (const ValueId in : group.inputs) {
    if (origin(plan, in) == ir::no_value) {
      group.untestable = "an input exists in no captured graph";
      return;
    }
    border.insert(origin(plan, in));
  }
  std::set<std::int32_t> nodes;
  std::vector<ValueId> todo;
  for (const ValueId claimed : group.claimed) todo.push_back(origin(plan, claimed));
  std::set<ValueId> seen(todo.begin(), todo.end());
  while (!todo.empty()) {
    const ValueId value = todo.back();
    todo.pop_back();
    if (border.count(value)) continue;
    const std::int32_t node = producer.at(static_cast<std::size_t>(value));
    if (node < 0) {
      group.untestable = "the captured nodes need an input the kernel does not read";
      return;
    }
    if (!nodes.insert(node).second) continue;
    for (const std::int32_t id : references(captured.nodes[static_cast<std::size_t>(node)].args)) {
      if (seen.insert(id).second) todo.push_back(id);
    }
  }
  group.captured_nodes.assign(nodes.begin(), nodes.end());
}

// subgraph() orders its inputs by first use; the claim wants them in the group's order.
void make_truth(const ir::Graph& captured, const schedule::Plan& plan, ProofGroup& group) {
  std::vector<ValueId> outputs;
  for (const ValueId claimed : group.claimed) outputs.push_back(origin(plan, claimed));
  group.truth = ir::subgraph(captured, group.captured_nodes, outputs);
  std::vector<ValueId> ordered;
  for (const ir::Input& input : group.truth.inputs) {
    const ValueId captured_id = group.truth.values.at(static_cast<std::size_t>(input.value)).origin;
    const auto it = std::find_if(group.inputs.begin(), group.inputs.end(),
                                 [&](ValueId v) { return origin(plan, v) == captured_id; });
    if (it == group.inputs.end()) {
      group.untestable = "the captured nodes need an input the kernel does not read";
      return;
    }
    const ir::Value& rewritten = plan.graph.values.at(static_cast<std::size_t>(*it));
    ir::Value& value = group.truth.values.at(static_cast<std::size_t>(input.value));
    value.range_lo = rewritten.range_lo;
    value.range_hi = rewritten.range_hi;
    ordered.push_back(*it);
  }
  group.inputs = std::move(ordered);
}

}  // namespace

std::string rejection_of(const ProofGroup& group, const BuiltMap& built) {
  for (const std::string& body : group.bodies) {
    if (const Built& kernel = *built.at(body); !kernel.rejection.empty()) return kernel.rejection;
  }
  return "";
}

std::vector<ProofGroup> group_claims(const ir::Graph& captured, const schedule::Plan& plan) {
  const std::vector<std::int32_t> producer = ir::producers(captured);
  std::vector<ProofGroup> groups;
  for (auto& [root, regions] : members(plan)) {
    ProofGroup group;
    group.regions = regions;
    for (const std::int32_t r : regions) group.bodies.push_back(plan.regions[static_cast<std::size_t>(r)].fingerprint);
    collect_values(plan, group);
    if (group.untestable.empty()) find_truth(captured, plan, producer, group);
    if (group.untestable.empty()) make_truth(captured, plan, group);
    std::string key;
    for (const std::string& body : group.bodies) key += body;
    if (group.untestable.empty()) key += ir::fingerprint(group.truth);
    group.key = sha256(key);
    groups.push_back(std::move(group));
  }
  return groups;
}

verify::Claim make_claim(const ProofGroup& group, const schedule::Plan& plan, const BuiltMap& built) {
  verify::Claim claim;
  claim.truth = group.truth;
  std::map<ValueId, std::int32_t> position;
  const auto tensor = [&](ValueId value) {
    const auto [it, fresh] = position.try_emplace(value, static_cast<std::int32_t>(claim.tensors.size()));
    if (fresh) claim.tensors.push_back(plan.graph.type(value));
    return it->second;
  };
  for (const ValueId in : group.inputs) claim.inputs.push_back(tensor(in));
  for (const std::int32_t r : group.regions) {
    const Region& region = plan.regions[static_cast<std::size_t>(r)];
    const Built& kernel = *built.at(region.fingerprint);
    claim.steps.push_back({region.body, kernel.source, kernel.binary});
    auto& binding = claim.bindings.emplace_back();
    for (const schedule::Buffer& buffer : region.body.buffers) binding.push_back(tensor(buffer.value));
  }
  for (std::size_t o = 0; o < group.outputs.size(); ++o) {
    claim.outputs.push_back(tensor(group.outputs[o]));
    claim.tensors[static_cast<std::size_t>(claim.outputs.back())] = plan.graph.type(group.claimed[o]);
  }
  return claim;
}

}  // namespace cudaagent
