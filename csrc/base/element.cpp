#include "base/element.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace cudaagent {

namespace {

template <class T>
T get(const void* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

template <class T>
void put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
}

/// Rounds to a 16-bit IEEE-like format.
template <int mantissa, int exponent>
std::uint16_t round_to(double value) {
  constexpr int bias = (1 << (exponent - 1)) - 1, dropped = 52 - mantissa;
  constexpr std::uint64_t infinity = ((1u << exponent) - 1) << mantissa;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
  if (std::isnan(value)) return sign | static_cast<std::uint16_t>(infinity | 1 << (mantissa - 1));
  const double magnitude = std::fabs(value);
  // Below the normal numbers: in units of the last place; the default rounding mode is to nearest even.
  if (magnitude < std::ldexp(1.0, 1 - bias)) {
    return sign | static_cast<std::uint16_t>(std::nearbyint(std::ldexp(magnitude, bias - 1 + mantissa)));
  }
  // A carry out of the mantissa moves into the exponent, and past the largest number into infinity.
  const std::uint64_t plain = bits & ~(std::uint64_t{1} << 63);
  const std::uint64_t half = (std::uint64_t{1} << (dropped - 1)) - 1 + (plain >> dropped & 1);
  const std::uint64_t rounded = ((plain + half) >> dropped) - (std::uint64_t{1023 - bias} << mantissa);
  return sign | static_cast<std::uint16_t>(std::min(rounded, infinity));
}

}  // namespace

double load_element(const void* data, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return get<float>(data);
    case DType::f64:
      return get<double>(data);
    case DType::f16:
      return half_value(get<std::uint16_t>(data));
    case DType::bf16:
      return bfloat16_value(get<std::uint16_t>(data));
    default:
      return static_cast<double>(load_integer(data, dtype));
  }
}

void store_element(void* data, DType dtype, double value) {
  switch (dtype) {
    case DType::f32:
      return put(data, static_cast<float>(value));
    case DType::f64:
      return put(data, value);
    case DType::f16:
      return put(data, round_to<10, 5>(value));
    case DType::bf16:
      return put(data, round_to<7, 8>(value));
    case DType::i8:
      return put(data, static_cast<std::int8_t>(value));
    case DType::i16:
      return put(data, static_cast<std::int16_t>(value));
    case DType::i32:
      return put(data, static_cast<std::int32_t>(value));
    case DType::i64:
      return put(data, static_cast<std::int64_t>(value));
    case DType::u8:
      return put(data, static_cast<std::uint8_t>(value));
    case DType::b8:
      return put(data, static_cast<std::uint8_t>(value != 0));
    default:
      throw InternalError(std::string("store_element: no template writes ") + dtype_name(dtype));
  }
}

std::int64_t load_integer(const void* data, DType dtype) {
  switch (dtype) {
    case DType::i8:
      return get<std::int8_t>(data);
    case DType::i16:
      return get<std::int16_t>(data);
    case DType::i32:
      return get<std::int32_t>(data);
    case DType::i64:
      return get<std::int64_t>(data);
    case DType::u8:
      return get<std::uint8_t>(data);
    case DType::b8:
      return get<std::uint8_t>(data) != 0;
    default:
      throw InternalError(std::string("load_integer: no integer in ") + dtype_name(dtype));
  }
}

double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return std::numeric_limits<float>::max();
    case DType::f64:
      return std::numeric_limits<double>::max();
    case DType::f16:
      return 65504;
    case DType::bf16:
      return 0x1.fep127;
    default:
      throw InternalError(std::string("largest_finite: not a float type: ") + dtype_name(dtype));
  }
}

double ulp(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return std::ldexp(1.0, -23);
    case DType::f64:
      return std::ldexp(1.0, -52);
    case DType::f16:
      return std::ldexp(1.0, -10);
    case DType::bf16:
      return std::ldexp(1.0, -7);
    default:
      return 0;
  }
}

}  // namespace cudaagent
