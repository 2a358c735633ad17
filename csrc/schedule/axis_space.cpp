#include "schedule/axis_space.h"

#include <algorithm>

namespace cudaagent::schedule {

AxisId AxisSpace::add(std::int64_t extent) {
  nodes_.push_back({extent});
  return static_cast<AxisId>(nodes_.size() - 1);
}

void AxisSpace::expand(AxisId axis, AxisList& out) const {
  const Node* node = &nodes_[static_cast<std::size_t>(axis)];
  while (node->same >= 0) {
    axis = node->same;
    node = &nodes_[static_cast<std::size_t>(axis)];
  }
  if (node->major < 0) {
    out.push_back(axis);
    return;
  }
  expand(node->major, out);
  expand(node->minor, out);
}

AxisList AxisSpace::leaves(const AxisList& list) const {
  AxisList out;
  for (const AxisId axis : list) expand(axis, out);
  return out;
}

std::int64_t AxisSpace::product(const AxisList& list) const {
  std::int64_t product = 1;
  for (const AxisId axis : list) product *= extent(axis);
  return product;
}

// `minor` becomes the fast part of `axis`, a new axis the slow part.
void AxisSpace::split(AxisId axis, AxisId minor) {
  const AxisId major = add(extent(axis) / extent(minor));
  nodes_[static_cast<std::size_t>(axis)].major = major;
  nodes_[static_cast<std::size_t>(axis)].minor = minor;
}

AxisId AxisSpace::split_off(AxisId axis, std::int64_t minor_extent) {
  const AxisId minor = add(minor_extent);
  split(axis, minor);
  return minor;
}

// The last leaf of the stack. Axes further down may have been split since they were pushed.
bool AxisSpace::pop_leaf(AxisList& stack, AxisId& leaf) const {
  if (stack.empty()) return false;
  const AxisId top = stack.back();
  stack.pop_back();
  expand(top, stack);
  leaf = stack.back();
  stack.pop_back();
  return true;
}

bool AxisSpace::unify(const AxisList& a, const AxisList& b) {
  AxisList left = a, right = b;
  AxisId x = -1, y = -1;
  while (true) {
    const bool more_left = pop_leaf(left, x), more_right = pop_leaf(right, y);
    if (!more_left || !more_right) return more_left == more_right;
    if (x == y) continue;
    if (extent(x) == extent(y)) {
      nodes_[static_cast<std::size_t>(x)].same = y;
    } else if (extent(x) % extent(y) == 0) {
      split(x, y);
      left.push_back(nodes_[static_cast<std::size_t>(x)].major);
    } else if (extent(y) % extent(x) == 0) {
      split(y, x);
      right.push_back(nodes_[static_cast<std::size_t>(y)].major);
    } else {
      return false;
    }
  }
}

std::optional<std::vector<AxisList>> AxisSpace::regroup(const AxisList& list, const std::vector<std::int64_t>& dims) {
  AxisList stack = list;
  std::vector<AxisList> groups(dims.size());
  for (std::size_t d = dims.size(); d-- > 0;) {
    std::int64_t need = dims[d];
    AxisId leaf = -1;
    while (need > 1) {
      if (!pop_leaf(stack, leaf)) return std::nullopt;
      const std::int64_t have = extent(leaf);
      if (need % have != 0) {
        if (have % need != 0) return std::nullopt;
        const AxisId minor = split_off(leaf, need);
        stack.push_back(nodes_[static_cast<std::size_t>(leaf)].major);
        leaf = minor;
      }
      groups[d].push_back(leaf);
      need /= extent(leaf);
    }
    std::reverse(groups[d].begin(), groups[d].end());
  }
  if (!stack.empty()) return std::nullopt;
  return groups;
}

}  // namespace cudaagent::schedule
