#include "codegen/analysis.h"

#include <algorithm>
#include <cstdlib>

namespace cudaagent::codegen {

namespace {

using schedule::Access;
using schedule::Axis;
using schedule::Body;
using schedule::Inst;
using schedule::InstKind;

bool has_access(const Inst& inst) {
  return inst.kind == InstKind::load || inst.kind == InstKind::store || inst.kind == InstKind::index;
}

/// Marks `inst` and every element-level instruction it is computed from.
void mark(const Body& body, std::int32_t inst, std::vector<bool>& marked) {
  if (marked[static_cast<std::size_t>(inst)]) return;
  marked[static_cast<std::size_t>(inst)] = true;
  for (const std::int32_t operand : body.insts[static_cast<std::size_t>(inst)].operands) {
    const Inst& source = body.insts[static_cast<std::size_t>(operand)];
    if (source.element && source.kind != InstKind::reduce) mark(body, operand, marked);
  }
}

/// True when axes a and a + 1 are one: each access steps over a as if a + 1 had been run to its end.
bool mergeable(const Body& body, std::size_t a) {
  if (body.axes[a].reduced != body.axes[a + 1].reduced) return false;
  return std::all_of(body.insts.begin(), body.insts.end(), [&](const Inst& inst) {
    return !has_access(inst) || inst.access.strides[a] == inst.access.strides[a + 1] * body.axes[a + 1].extent;
  });
}

void drop_axis(Body& body, std::size_t a) {
  body.axes.erase(body.axes.begin() + static_cast<std::ptrdiff_t>(a));
  for (Inst& inst : body.insts)
    if (has_access(inst)) inst.access.strides.erase(inst.access.strides.begin() + static_cast<std::ptrdiff_t>(a));
}

}  // namespace

std::vector<Stage> stages(const Body& body) {
  std::vector<Stage> result(static_cast<std::size_t>(std::max(body.stages, 1)));
  for (std::size_t s = 0; s < result.size(); ++s) {
    Stage& stage = result[s];
    std::vector<bool> marked(body.insts.size(), false);
    for (std::size_t i = 0; i < body.insts.size(); ++i) {
      const Inst& inst = body.insts[i];
      if (inst.stage != static_cast<std::int32_t>(s)) continue;
      const bool reduce = inst.kind == InstKind::reduce;
      if (reduce || (inst.kind == InstKind::store && inst.element))
        mark(body, static_cast<std::int32_t>(i), marked);
      else if (!inst.element)
        stage.row.push_back(static_cast<std::int32_t>(i));
    }
    for (std::size_t i = 0; i < body.insts.size(); ++i) {
      if (!marked[i]) continue;
      const auto id = static_cast<std::int32_t>(i);
      stage.element.push_back(id);
      if (body.insts[i].kind == InstKind::reduce) stage.reduces.push_back(id);
      if (body.insts[i].kind == InstKind::store) stage.stores.push_back(id);
    }
  }
  return result;
}

std::vector<PersistentStage> persistent_stages(const Body& body) {
  const std::vector<Stage> plain = stages(body);
  std::vector<PersistentStage> result(plain.size());
  std::vector<std::size_t> first(body.insts.size(), plain.size());
  for (std::size_t s = 0; s < plain.size(); ++s)
    for (const std::int32_t id : plain[s].element) {
      if (first[static_cast<std::size_t>(id)] != plain.size()) continue;
      first[static_cast<std::size_t>(id)] = s;
      result[s].element.push_back(id);
    }
  for (std::size_t s = 0; s < plain.size(); ++s)
    for (const std::int32_t id : result[s].element)
      for (const std::int32_t operand : body.insts[static_cast<std::size_t>(id)].operands) {
        const std::size_t made = first[static_cast<std::size_t>(operand)];
        const bool reduce = body.insts[static_cast<std::size_t>(operand)].kind == InstKind::reduce;
        if (made < s && !reduce) result[made].kept.insert(operand);
      }
  return result;
}

Recall recall(const Body& body, const std::vector<Stage>& plain, std::size_t stage,
              const std::map<std::int32_t, std::size_t>& remembered) {
  Recall result;
  std::set<std::int32_t> needed;
  // Operands come before what uses them, so one walk backwards meets every use before its value.
  const std::vector<std::int32_t>& all = plain[stage].element;
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    const Inst& inst = body.insts[static_cast<std::size_t>(*it)];
    const bool result_of_stage = inst.kind == InstKind::reduce || inst.kind == InstKind::store;
    if (!result_of_stage && !needed.contains(*it)) continue;
    result.insts.push_back(*it);
    const auto known = remembered.find(*it);
    if (known != remembered.end() && known->second < stage)
      result.recalled.insert(*it);
    else
      needed.insert(inst.operands.begin(), inst.operands.end());
  }
  std::reverse(result.insts.begin(), result.insts.end());
  return result;
}

int cost_of_value(const Body& body, std::int32_t inst) {
  std::vector<bool> marked(body.insts.size(), false);
  mark(body, inst, marked);
  std::vector<std::int32_t> insts;
  for (std::size_t i = 0; i < marked.size(); ++i)
    if (marked[i]) insts.push_back(static_cast<std::int32_t>(i));
  return cost(body, insts);
}

Body collapse(const Body& body) {
  Body result = body;
  const auto reduced_axes = [&] { return result.axes.size() - kept_axes(result); };
  for (std::size_t a = result.axes.size(); a-- > 0;)
    if (result.axes[a].extent == 1 && !(result.axes[a].reduced && reduced_axes() == 1)) drop_axis(result, a);
  for (std::size_t a = result.axes.size(); a-- > 1;) {
    if (!mergeable(result, a - 1)) continue;
    result.axes[a].extent *= result.axes[a - 1].extent;
    drop_axis(result, a - 1);
  }
  return result;
}

std::int64_t access_alignment(const Body& body, const Access& access, std::size_t fastest, std::int64_t most) {
  std::int64_t alignment = most;
  const auto limit = [&](std::int64_t step) {
    while (alignment > 1 && step % alignment != 0) alignment /= 2;
  };
  limit(access.offset);
  for (std::size_t a = 0; a < body.axes.size(); ++a)
    if (a != fastest && body.axes[a].extent > 1) limit(access.strides[a]);
  return alignment;
}

std::size_t kept_axes(const Body& body) {
  return static_cast<std::size_t>(
      std::count_if(body.axes.begin(), body.axes.end(), [](const Axis& axis) { return !axis.reduced; }));
}

int cost(const Body& body, const std::vector<std::int32_t>& insts) {
  int sum = 0;
  for (const std::int32_t i : insts) {
    const Inst& inst = body.insts[static_cast<std::size_t>(i)];
    if (inst.kind != InstKind::map) continue;
    const ir::MapFn* fn = ir::find_map_fn(inst.fn);
    sum += fn ? fn->cost : 1;
  }
  return sum;
}

}  // namespace cudaagent::codegen
