// Reductions on CUDA, all templates of them: the threads of a block share rows (or blocks of columns), pass over the
// reduced axes once a stage, and join what they found.
//
//   rows      `lanes` threads a row, `groups` rows a block; vectors run along the last reduced axis
//   columns   `lanes` threads side by side, each with a vector along the last kept axis; `groups` such lines a block
//             share the reduced axes
//   persistent  element-level values stay in registers from stage to stage; otherwise each stage reads again
//   cluster   blocks that share a row through distributed shared memory (sm_90 on)
//   splits    blocks that share a row through scratch memory: one kernel a stage
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "codegen/analysis.h"
#include "codegen/cuda_kernel.h"
#include "codegen/cuda_walk.h"

namespace cudaagent::codegen::cuda {

struct ReduceShape {
  bool columns = false;
  std::int64_t lanes = 32;
  std::int64_t groups = 1;
  std::int64_t vector = 1;
  std::int64_t unroll = 1;
  bool persistent = false;
  std::int64_t cluster = 1;
  std::int64_t splits = 1;
};

/// The axis vectors run along: the last reduced axis for rows, the last kept one for columns.
std::size_t vector_axis(const schedule::Body& body, bool columns);
/// Bytes an element brings in through loads that are contiguous along `axis`.
std::int64_t contiguous_bytes(const schedule::Body& body, std::size_t axis);
/// Whether threads should lie across kept elements: more bytes are contiguous along them.
bool reads_along_columns(const schedule::Body& body);

/// Whether many rows read the same elements (a weight, a bias).
bool shared_by_rows(const schedule::Body& body, const schedule::Access& access);

/// What each stage computes when element-level values stay known.
struct PersistentStage {
  std::vector<std::int32_t> element;  ///< computed in this stage for the first time
  std::set<std::int32_t> kept;        ///< of those, what a later stage uses
};
std::vector<PersistentStage> persistent_stages(const schedule::Body& body);
/// 32-bit registers an element holds at the busiest moment when element-level values stay in registers.
std::int64_t registers_per_element(const schedule::Body& body);
/// Elements of a row (of reduced positions, for columns) one thread meets.
std::int64_t elements_per_thread(const schedule::Body& body, const ReduceShape& shape);

/// `body` is collapsed. A shape that does not fit the body or the target is a Rejection.
Outcome<Source> write_reduction(const schedule::Body& body, const ReduceShape& shape, const Target& target,
                                const std::string& name);

}  // namespace cudaagent::codegen::cuda
