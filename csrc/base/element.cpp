#include "base/element.h"

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

/// A 16-bit IEEE-like format.
template <int mantissa, int exponent>
struct Small {
  static constexpr int bias = (1 << (exponent - 1)) - 1;
  static constexpr std::uint16_t infinity = ((1 << exponent) - 1) << mantissa;

  static double load(std::uint16_t bits) {
    const bool negative = bits >> 15;
    const int e = bits >> mantissa & ((1 << exponent) - 1);
    const int m = bits & ((1 << mantissa) - 1);
    double value;
    if (e == (1 << exponent) - 1) {
      value = m ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    } else if (e == 0) {
      value = std::ldexp(m, 1 - bias - mantissa);
    } else {
      value = std::ldexp(m + (1 << mantissa), e - bias - mantissa);
    }
    return negative ? -value : value;
  }

  static std::uint16_t store(double value) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return sign | infinity | 1 << (mantissa - 1);
    const double magnitude = std::fabs(value);
    if (std::isinf(magnitude)) return sign | infinity;
    if (magnitude == 0) return sign;
    int e = 0;
    std::frexp(magnitude, &e);
    const int stored = std::max(e - 1, 1 - bias);
    if (stored > bias) return sign | infinity;
    // In units of the last place; the default rounding mode is to nearest even, and a carry moves into the exponent.
    const int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, mantissa - stored)));
    const int bits = e - 1 < 1 - bias ? units : ((stored + bias) << mantissa) + units - (1 << mantissa);
    return sign | static_cast<std::uint16_t>(std::min<int>(bits, infinity));
  }
};
using Half = Small<10, 5>;
using BFloat = Small<7, 8>;

}  // namespace

double load_element(const void* data, DType dtype) {
  switch (dtype) {
    case DType::f32: return get<float>(data);
    case DType::f64: return get<double>(data);
    case DType::f16: return Half::load(get<std::uint16_t>(data));
    case DType::bf16: return BFloat::load(get<std::uint16_t>(data));
    default: return static_cast<double>(load_integer(data, dtype));
  }
}

void store_element(void* data, DType dtype, double value) {
  switch (dtype) {
    case DType::f32: return put(data, static_cast<float>(value));
    case DType::f64: return put(data, value);
    case DType::f16: return put(data, Half::store(value));
    case DType::bf16: return put(data, BFloat::store(value));
    case DType::i8: return put(data, static_cast<std::int8_t>(value));
    case DType::i16: return put(data, static_cast<std::int16_t>(value));
    case DType::i32: return put(data, static_cast<std::int32_t>(value));
    case DType::i64: return put(data, static_cast<std::int64_t>(value));
    case DType::u8: return put(data, static_cast<std::uint8_t>(value));
    case DType::b8: return put(data, static_cast<std::uint8_t>(value != 0));
    default: throw InternalError(std::string("store_element: no template writes ") + dtype_name(dtype));
  }
}

std::int64_t load_integer(const void* data, DType dtype) {
  switch (dtype) {
    case DType::i8: return get<std::int8_t>(data);
    case DType::i16: return get<std::int16_t>(data);
    case DType::i32: return get<std::int32_t>(data);
    case DType::i64: return get<std::int64_t>(data);
    case DType::u8: return get<std::uint8_t>(data);
    case DType::b8: return get<std::uint8_t>(data) != 0;
    default: throw InternalError(std::string("load_integer: no integer in ") + dtype_name(dtype));
  }
}

double ulp(DType dtype) {
  switch (dtype) {
    case DType::f32: return std::ldexp(1.0, -23);
    case DType::f64: return std::ldexp(1.0, -52);
    case DType::f16: return std::ldexp(1.0, -10);
    case DType::bf16: return std::ldexp(1.0, -7);
    default: return 0;
  }
}

}  // namespace cudaagent
