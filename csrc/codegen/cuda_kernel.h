// What the CUDA templates share around a kernel's body: its signature, its launch, and how wide vectors may be.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "codegen/cuda_text.h"

namespace cudaagent::codegen::cuda {

using Params = std::map<std::string, std::int64_t>;

struct KernelShape {
  std::string name;
  std::int64_t threads = 256;
  std::int64_t blocks = 1;
  std::int64_t cluster = 1;
  std::int64_t blocks_per_unit = 0;  ///< occupancy asked of the register allocator; 0: its own choice
  std::vector<std::string> scratch;  ///< element types of scratch buffers 0, 1, ... that become s0, s1, ...
  std::int64_t shared_bytes = 0;     ///< dynamic shared memory
};

/// Opens the kernel in `text` up to its wait for producers, and adds the launch to `source`.
/// Parameters are p<k> for buffer k and s<k> for scratch k.
void open_kernel(Text& text, Source& source, const schedule::Body& body, const KernelShape& shape,
                 const Target& target);

/// The source of a body without elements: no kernel.
Source nothing_to_do();

/// ca::aligned(...) over the buffers that `vector_axis` walks with stride 1.
std::string aligned_condition(const schedule::Body& body, std::size_t vector_axis);

/// Elements a thread should take along `axis`: 16 bytes of the widest type that moves along it, reduced until every
/// contiguous access stays aligned. `ragged`: the axis need not be a whole number of vectors.
std::int64_t vector_width(const schedule::Body& body, std::size_t axis, bool ragged);

/// Bytes of the widest element that moves along `axis`; 0 when none does.
std::int64_t widest_access(const schedule::Body& body, std::size_t axis);

/// Bytes one element moves in and out of contiguous or strided memory along `axis`.
std::int64_t bytes_along(const schedule::Body& body, std::size_t axis, bool loads_only);

/// Whether an index or an address can pass 2^31.
bool needs_wide(const schedule::Body& body);
/// 90 of "sm_90a".
int compute_capability(const Target& target);
bool is_sm90(const Target& target);

std::int64_t ceil_div(std::int64_t a, std::int64_t b);
std::int64_t round_up(std::int64_t a, std::int64_t b);
/// Smallest power of two that is at least `a`.
std::int64_t power_of_two(std::int64_t a);

/// A Rejection unless every `keys` parameter lies in [1, its bound].
struct Bound {
  const char* key;
  std::int64_t most;
};
Outcome<int> check_params(const Params& params, const std::vector<Bound>& bounds);

}  // namespace cudaagent::codegen::cuda
