// How a chain of views lies in the memory it looks into: every dim a product of strided factors.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/ir.h"

namespace cudaagent::schedule {

struct Factor {
  std::int64_t extent = 1;
  std::int64_t stride = 0;
};

/// Factors of a dim are major first, neighbours that step as one are one, extents of 1 are left out. Never of an empty
/// tensor.
struct StridedView {
  std::int64_t offset = 0;
  std::vector<std::vector<Factor>> dims;

  static StridedView whole(const TensorType& type);
  /// What the view `node` of this gives; false when no product of factors can say it.
  bool apply(const ir::Graph& graph, const ir::Node& node);
  /// One stride a dim, as a tensor has them; nothing when a dim needs several factors.
  std::optional<std::vector<std::int64_t>> strides() const;
};

}  // namespace cudaagent::schedule
