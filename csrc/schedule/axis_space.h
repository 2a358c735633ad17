// The axes of an iteration space while it is being built: tensor dims are unified with each other and split so that
// every grouping of them falls on axis borders.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace cudaagent::schedule {

using AxisId = std::int32_t;
/// Major first. One tensor dim is the product of the axes of its list; a dim of extent 1 has none.
using AxisList = std::vector<AxisId>;

class AxisSpace {
 public:
  /// A new axis; `extent` is at least 2.
  AxisId add(std::int64_t extent);
  std::int64_t extent(AxisId axis) const { return nodes_[static_cast<std::size_t>(axis)].extent; }

  /// Makes the two lists the same sequence of axes, splitting where one side is finer. False when the factors do not
  /// nest (2 x 6 against 3 x 4) or the products differ; the space is then no longer of use.
  bool unify(const AxisList& a, const AxisList& b);

  /// The list cut into groups of the given extents, splitting axes that straddle a border; nothing when that fails.
  std::optional<std::vector<AxisList>> regroup(const AxisList& list, const std::vector<std::int64_t>& dims);

  /// The list in axes that are not split any further.
  AxisList leaves(const AxisList& list) const;
  std::int64_t product(const AxisList& list) const;

 private:
  struct Node {
    std::int64_t extent;
    AxisId same = -1;               ///< unified with that axis
    AxisId major = -1, minor = -1;  ///< split into these two
  };

  void expand(AxisId axis, AxisList& out) const;
  void split(AxisId axis, AxisId minor);
  AxisId split_off(AxisId axis, std::int64_t minor_extent);
  bool pop_leaf(AxisList& stack, AxisId& leaf) const;

  std::vector<Node> nodes_;
};

}  // namespace cudaagent::schedule
