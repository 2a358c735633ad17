// Numbers that follow from a body and the shape of its reduction: who takes which elements, and what that needs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/cuda_reduce.h"

namespace cudaagent::codegen::cuda {

class Geometry {
 public:
  Geometry(const schedule::Body& body, const ReduceShape& shape, const Target& target);

  /// Blocks, before clusters and splits multiply them.
  std::int64_t row_blocks() const;
  /// Elements of a row one of `parts` blocks takes: whole vectors for rows.
  std::int64_t chunk(std::int64_t parts) const;
  /// Positions between two groups of a thread, and between two threads.
  std::int64_t step() const { return shape_.columns ? shape_.groups : shape_.lanes * shape_.vector; }
  /// Whether the last block has threads without a row or column.
  bool ragged_rows() const;
  /// Blocks a unit should hold at once; 0: the register allocator's choice.
  std::int64_t blocks_per_unit() const;
  /// Elements after which a thread's partial sums are added up, so that rounding grows with the root of a row's length
  /// and not with the length; 0: the row is short.
  std::int64_t cascade(std::int64_t parts) const;
  /// Whether threads of different warps or blocks share a row.
  bool joins_in_shared(std::int64_t cluster) const;

  /// Accumulators that a reduction's join has in static shared memory, where it joins there; and bytes of all joins.
  std::int64_t slots() const;
  std::int64_t slot_bytes() const;
  /// With Keep::shared and Keep::fetched: offset in dynamic shared memory of each load that stays there, and bytes in
  /// all.
  const std::map<std::int32_t, std::int64_t>& shared_offsets() const { return shared_offsets_; }
  std::int64_t shared_bytes() const { return shared_bytes_; }
  bool shifted() const { return shifted_; }
  /// With a shifted start, the accesses that begin alike.
  const std::vector<std::int32_t>& alike() const { return alike_; }

 private:
  const schedule::Body& body_;
  const ReduceShape& shape_;
  const std::int64_t shared_of_block_;
  const bool shifted_;
  const std::vector<std::int32_t> alike_;
  std::map<std::int32_t, std::int64_t> shared_offsets_;
  std::int64_t shared_bytes_ = 0;
};

/// A Rejection when the shape does not fit the collapsed body or the target.
Outcome<int> check_shape(const schedule::Body& body, const ReduceShape& shape, const Target& target);

}  // namespace cudaagent::codegen::cuda
