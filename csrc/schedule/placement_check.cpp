// What one iteration space must fulfil: one set of reduced axes, outputs that cover it, little computed twice.
#include <algorithm>

#include "schedule/placement.h"

namespace cudaagent::schedule {

using ir::ValueId;

namespace {

// Arithmetic of values that do not vary along all axes is repeated along the others. Up to this cost (MapFn::cost) that
// hides behind the memory traffic of the elements.
constexpr int most_recomputed_cost = 16;

AxisList sorted(AxisList list) {
  std::sort(list.begin(), list.end());
  return list;
}

AxisList minus(const AxisList& from, const AxisList& sorted_out) {
  AxisList rest;
  std::copy_if(from.begin(), from.end(), std::back_inserter(rest),
               [&](AxisId axis) { return !std::binary_search(sorted_out.begin(), sorted_out.end(), axis); });
  return rest;
}

bool has_duplicates(const AxisList& sorted_list) {
  return std::adjacent_find(sorted_list.begin(), sorted_list.end()) != sorted_list.end();
}

}  // namespace

AxisList Placement::value_axes(const std::vector<AxisList>& dims) const {
  AxisList list;
  for (const AxisList& dim : dims) list.insert(list.end(), dim.begin(), dim.end());
  return space_.leaves(list);
}

// All reductions run over the axes of the first, in whatever order their operands name them.
std::string Placement::match_reductions() {
  const AxisList* first = nullptr;
  for (const std::int32_t n : nodes_) {
    const auto it = reduce_lists_.find(n);
    if (it == reduce_lists_.end() || it->second.empty()) continue;
    if (!first) {
      first = &it->second;
    } else if (sorted(space_.leaves(*first)) != sorted(space_.leaves(it->second)) &&
               !space_.unify(*first, it->second)) {
      return "its reductions run over different axes";
    }
  }
  if (first) reduced_ = *first;
  return "";
}

// Element-level work on other tensors of the row's shape (y - mean(x)) walks along the same reduced axes.
std::string Placement::match_epilogues() {
  for (const std::int32_t n : nodes_) {
    const auto reduce =
        std::find_if(reduce_lists_.begin(), reduce_lists_.end(), [](const auto& item) { return !item.second.empty(); });
    AxisList row_space = sorted(space_.leaves(reduce_operands_.at(reduce->first)));
    const AxisList mine = value_axes(dims_.at(flow_->node(n).outputs[0]));
    const AxisList extra = minus(mine, row_space);
    if (extra.empty()) continue;
    const AxisList reduced = sorted(space_.leaves(reduced_));
    const bool touches = minus(mine, reduced).size() != mine.size();
    if (touches || !space_.unify(extra, reduced_)) return "an epilogue does not walk along the reduced axes";
  }
  return "";
}

std::string Placement::check(const std::vector<ValueId>& outputs) {
  std::string why = match_reductions();
  if (why.empty() && !reduced_.empty()) why = match_epilogues();
  if (!why.empty()) return why;

  reduced_ = space_.leaves(reduced_);
  const AxisList reduced = sorted(reduced_);
  AxisList all = reduced;
  const auto collect = [&](const AxisList& list) { all.insert(all.end(), list.begin(), list.end()); };
  for (const auto& [value, dims] : dims_) {
    const AxisList axes = value_axes(dims);
    if (has_duplicates(sorted(axes))) return "a value meets its own transpose";
    collect(axes);
  }
  for (const auto& [n, list] : reduce_operands_) {
    const AxisList axes = space_.leaves(list);
    if (has_duplicates(sorted(axes))) return "a value meets its own transpose";
    collect(axes);
  }
  all = sorted(std::move(all));
  all.erase(std::unique(all.begin(), all.end()), all.end());
  kept_ = minus(all, reduced);

  for (const auto& [n, list] : reduce_lists_) {
    if (list.empty()) continue;
    if (sorted(space_.leaves(list)) != reduced) return "its reductions run over different axes";
    if (sorted(space_.leaves(reduce_operands_.at(n))) != all) return "a reduction would be repeated";
  }
  for (const ValueId output : outputs) {
    const AxisList axes = sorted(value_axes(dims_.at(output)));
    if (axes != all && axes != kept_) return "an output does not cover its axes";
  }
  return check_recompute();
}

std::string Placement::check_recompute() const {
  const std::size_t all = kept_.size() + reduced_.size();
  const AxisList reduced = sorted(reduced_);
  int cost = 0;
  for (const std::int32_t n : nodes_) {
    const ir::Node& node = flow_->node(n);
    const ir::MapFn* fn = ir::is_map(node.op) ? ir::find_map_fn(node.op.substr(6)) : nullptr;
    if (!fn) continue;
    const AxisList axes = value_axes(dims_.at(node.outputs[0]));
    const bool once_a_row = !reduced.empty() && minus(axes, reduced).size() == axes.size();
    if (axes.size() != all && !once_a_row) cost += fn->cost;
  }
  return cost > most_recomputed_cost ? "too much would be computed again for every element" : "";
}

}  // namespace cudaagent::schedule
