// One element of any templated dtype as a double: how the verifier makes inputs and reads results, on any host.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace cudaagent {

/// The element at `data`; bool gives 0 or 1. Integers beyond 2^53 lose their low bits: read those with load_integer.
double load_element(const void* data, DType dtype);
/// Rounds to nearest even, past the range to infinity. Integers truncate; bool is value != 0.
void store_element(void* data, DType dtype, double value);
std::int64_t load_integer(const void* data, DType dtype);

/// 2^-(mantissa bits): the spacing of values in [1, 2). 0 for integers and bool.
double ulp(DType dtype);

}  // namespace cudaagent
