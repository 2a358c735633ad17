// The order of a body's axes, and which of them are one.
#include <algorithm>
#include <numeric>

#include "schedule/body_builder.h"

namespace cudaagent::schedule {

namespace {

bool has_access(const Inst& inst) {
  return inst.kind == InstKind::load || inst.kind == InstKind::store || inst.kind == InstKind::index;
}

std::int64_t coverage(const Body& body, const Access& access) {
  std::int64_t elements = 1;
  for (std::size_t a = 0; a < body.axes.size(); ++a) {
    if (access.strides[a] != 0) elements *= body.axes[a].extent;
  }
  return elements;
}

/// Accesses whose memory decides the order, most important first: outputs of the whole space, inputs by size, row
/// outputs.
std::vector<const Access*> by_importance(const Body& body) {
  const std::int64_t all = body.kept() * body.reduced();
  std::vector<const Access*> ranked;
  for (const Inst& inst : body.insts) {
    if (inst.kind == InstKind::store && coverage(body, inst.access) == all) ranked.push_back(&inst.access);
  }
  const auto loads = static_cast<std::ptrdiff_t>(ranked.size());
  for (const Inst& inst : body.insts) {
    if (inst.kind == InstKind::load) ranked.push_back(&inst.access);
  }
  std::stable_sort(ranked.begin() + loads, ranked.end(),
                   [&](const Access* a, const Access* b) { return coverage(body, *a) > coverage(body, *b); });
  for (const Inst& inst : body.insts) {
    if (inst.kind == InstKind::store) ranked.push_back(&inst.access);
  }
  return ranked;
}

std::int64_t memory_step(const std::vector<const Access*>& ranked, std::size_t axis) {
  for (const Access* access : ranked) {
    if (access->strides[axis] != 0) return std::abs(access->strides[axis]);
  }
  return 0;
}

template <class T>
void permute(std::vector<T>& items, const std::vector<std::int32_t>& order) {
  std::vector<T> permuted;
  for (const std::int32_t a : order) permuted.push_back(items[static_cast<std::size_t>(a)]);
  items = std::move(permuted);
}

bool mergeable(const Body& body, std::size_t major) {
  const std::size_t minor = major + 1;
  if (body.axes[major].reduced != body.axes[minor].reduced) return false;
  return std::all_of(body.insts.begin(), body.insts.end(), [&](const Inst& inst) {
    return !has_access(inst) || inst.access.strides[major] == inst.access.strides[minor] * body.axes[minor].extent;
  });
}

}  // namespace

void order_axes(Body& body, const std::vector<std::int32_t>& reduced_order) {
  const std::vector<const Access*> ranked = by_importance(body);
  std::vector<std::int64_t> steps;
  for (std::size_t a = 0; a < body.axes.size(); ++a) steps.push_back(memory_step(ranked, a));
  std::vector<std::int32_t> order(body.axes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    if (body.axes[i].reduced != body.axes[j].reduced) return body.axes[j].reduced;
    return steps[i] > steps[j];
  });
  std::copy(reduced_order.begin(), reduced_order.end(),
            order.end() - static_cast<std::ptrdiff_t>(reduced_order.size()));
  permute(body.axes, order);
  for (Inst& inst : body.insts) {
    if (has_access(inst)) permute(inst.access.strides, order);
  }
}

void collapse_axes(Body& body) {
  for (std::size_t a = body.axes.size(); a-- > 1;) {
    const std::size_t major = a - 1;
    if (!mergeable(body, major)) continue;
    body.axes[a].extent *= body.axes[major].extent;
    body.axes.erase(body.axes.begin() + static_cast<std::ptrdiff_t>(major));
    for (Inst& inst : body.insts) {
      if (has_access(inst)) {
        inst.access.strides.erase(inst.access.strides.begin() + static_cast<std::ptrdiff_t>(major));
      }
    }
  }
}

}  // namespace cudaagent::schedule
