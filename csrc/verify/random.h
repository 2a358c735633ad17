// Random numbers by counter: no state, so any block of any tensor can be drawn on its own.
#pragma once

#include <cstdint>

namespace cudaagent::verify {

/// 64 well-mixed bits of (seed, index).
inline std::uint64_t random_bits(std::uint64_t seed, std::int64_t index) {
  std::uint64_t x = seed + 0x9e3779b97f4a7c15u * (static_cast<std::uint64_t>(index) + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// Uniform in [0, 1).
inline double uniform(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Close to a standard normal, within 3.5: the sum of four uniforms, far cheaper than an exact one. The division leaves
/// no trailing zero bits, so that rounding shows.
inline double normal(std::uint64_t bits) {
  const std::uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
  constexpr double mean = 131070, deviation = 37837.22;
  return (static_cast<double>(sum) - mean + static_cast<double>(bits >> 7 & 0xffff) * 0x1p-17) / deviation;
}

}  // namespace cudaagent::verify
