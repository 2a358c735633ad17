// One element of any templated dtype as a double: how the verifier makes inputs and reads results, on any host.
#pragma once

#include <bit>
#include <cstdint>

#include "base/types.h"

namespace cudaagent {

/// The element at `data`; bool gives 0 or 1. Integers beyond 2^53 lose their low bits: read those with load_integer.
double load_element(const void* data, DType dtype);
/// Rounds to nearest even, past the range to infinity. Integers truncate; bool is value != 0.
void store_element(void* data, DType dtype, double value);
std::int64_t load_integer(const void* data, DType dtype);

/// The value of a 16-bit pattern, exact.
inline float bfloat16_value(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
inline float half_value(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits} >> 15 << 31, exponent = bits >> 10 & 31u, mantissa = bits & 1023u;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const std::uint32_t rebiased = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | rebiased << 23 | mantissa << 13);
}

/// Largest finite value of a float type.
double largest_finite(DType dtype);

/// 2^-(mantissa bits): the spacing of values in [1, 2). 0 for integers and bool.
double ulp(DType dtype);

}  // namespace cudaagent
