// Elements of a strided tensor in plain memory, read and written as doubles in logical (row-major) order.
#pragma once

#include <cstddef>
#include <functional>

#include "base/base.h"

namespace cudaagent::verify {

/// Elements below which work is not worth another thread: a pool on busy cores costs milliseconds to gather.
inline constexpr std::int64_t parallel_grain = 1 << 20;

/// Memory of one tensor; `type.device` plays no part.
struct Elements {
  std::byte* data = nullptr;
  TensorType type;
};

/// Elements [begin, begin + count) in logical order.
void read_elements(const Elements& from, std::int64_t begin, std::int64_t count, double* out);
void write_elements(const Elements& to, std::int64_t begin, std::int64_t count, const double* values);

/// Integers and bool, all bits kept.
void read_integers(const Elements& from, std::int64_t begin, std::int64_t count, std::int64_t* out);

/// Calls visit(logical index of the first, byte offset of the first, elements, bytes between them) for runs that cover
/// [begin, begin + count), each along the last dim.
void for_each_run(const TensorType& type, std::int64_t begin, std::int64_t count,
                  const std::function<void(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>& visit);

/// Length of a row: the last dim, 1 for a scalar.
std::int64_t row_length(const TensorType& type);

}  // namespace cudaagent::verify
