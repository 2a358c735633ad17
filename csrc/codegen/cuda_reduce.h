// Reductions on CUDA, all templates of them: the threads of a block share rows (or blocks of columns), pass over the
// reduced axes once a stage, and join what they found.
//
//   rows      `lanes` threads a row, `groups` rows a block; vectors run along the last reduced axis
//   columns   `lanes` threads side by side, each with a vector along the last kept axis; `groups` such lines a block
//             share the reduced axes
//   keep      where element-level values stay from stage to stage: in registers, or what was loaded in shared memory;
//             with neither each stage reads again
//   shifted   rows begin anywhere in a vector: each is read from its first aligned vector on, and the few elements
//             before and after its whole vectors, its edges, one a lane
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

enum class Keep : std::uint8_t {
  nothing,
  registers,
  shared,  ///< what the first stage loads stays in shared memory
  fetched  ///< copied there before the first stage, with no register on the way
};

struct ReduceShape {
  bool columns = false;
  std::int64_t lanes = 32;
  std::int64_t groups = 1;
  std::int64_t vector = 1;
  std::int64_t unroll = 1;
  Keep keep = Keep::nothing;
  std::int64_t cluster = 1;
  std::int64_t splits = 1;
};

/// The axis vectors run along: the last reduced axis for rows, the last kept one for columns.
std::size_t vector_axis(const schedule::Body& body, bool columns);
/// Bytes an element brings in through loads that are contiguous along `axis`.
std::int64_t contiguous_bytes(const schedule::Body& body, std::size_t axis);
/// Whether threads should lie across kept elements: more bytes are contiguous along them.
bool reads_along_columns(const schedule::Body& body);

/// Elements a thread should take along a row: vector_width, or more where only the rows' lengths stand against it and
/// they are long enough to be worth a shifted start.
std::int64_t row_vector(const schedule::Body& body);
/// Whether vectors of that many elements need a shifted start.
bool is_shifted(const schedule::Body& body, const ReduceShape& shape);
/// The contiguous accesses of a row whose rows begin at the same place in a vector, the set with the most bytes (a load
/// counts twice: later stages may meet it again); the others go element by element in a shifted walk. Empty where a
/// shifted walk is not possible or would bring no load.
std::vector<std::int32_t> in_phase(const schedule::Body& body, std::int64_t vector);

/// Whether many rows read the same elements (a weight, a bias).
bool shared_by_rows(const schedule::Body& body, const schedule::Access& access);

/// 32-bit registers an element holds at the busiest moment when element-level values stay in registers.
std::int64_t registers_per_element(const schedule::Body& body);
/// Elements of a row (of reduced positions, for columns) one thread meets.
std::int64_t elements_per_thread(const schedule::Body& body, const ReduceShape& shape);

/// `body` is collapsed. A shape that does not fit the body or the target is a Rejection.
Outcome<Source> write_reduction(const schedule::Body& body, const ReduceShape& shape, const Target& target,
                                const std::string& name);

}  // namespace cudaagent::codegen::cuda
