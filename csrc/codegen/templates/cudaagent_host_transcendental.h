// Transcendental and remaining map functions. Included by cudaagent_host_math.h, whose macros it uses.
#pragma once

namespace ca {

#define CA_C_FUNCTION(name, x) (same<T, float> ? T(__builtin_##name##f(x)) : T(__builtin_##name(x)))
#define CA_C_FUNCTION2(name, x, y) (same<T, float> ? T(__builtin_##name##f(x, y)) : T(__builtin_##name(x, y)))
#define CA_LIBRARY(name) CA_UNARY(name, CA_C_FUNCTION(name, x), mv_##name(x))

CA_UNARY(exp, CA_C_FUNCTION(exp, x), fast_exp(x))
CA_LIBRARY(exp2)
CA_LIBRARY(expm1)
CA_UNARY(log, CA_C_FUNCTION(log, x), fast_log(x))
CA_LIBRARY(log2)
CA_LIBRARY(log10)
CA_LIBRARY(log1p)
CA_LIBRARY(sin)
CA_LIBRARY(cos)
CA_LIBRARY(tan)
CA_LIBRARY(asin)
CA_LIBRARY(acos)
CA_LIBRARY(atan)
CA_LIBRARY(sinh)
CA_LIBRARY(cosh)
CA_UNARY(tanh, CA_C_FUNCTION(tanh, x), fast_tanh(x))
CA_LIBRARY(asinh)
CA_LIBRARY(acosh)
CA_LIBRARY(atanh)
CA_UNARY(erf, CA_C_FUNCTION(erf, x), fast_erf(x))
CA_LIBRARY(erfc)
CA_BINARY(atan2, CA_C_FUNCTION2(atan2, a, b), mv_atan2(a, b))
CA_BINARY(hypot, CA_C_FUNCTION2(hypot, a, b), mv_hypot(a, b))
CA_UNARY(sigmoid, T(1) / (T(1) + CA_C_FUNCTION(exp, -x)), T(1) / (T(1) + fast_exp(-x)))

/// Powers of integers by squaring; a negative exponent leaves only the powers of 1 and -1.
template <class T>
CA_INLINE T integer_power(T base, T exponent) {
  if (exponent < T(0)) return base == T(1) ? T(1) : base == T(-1) ? (exponent & 1 ? T(-1) : T(1)) : T(0);
  uint64_t result = 1, square = uint64_t(base);
  for (auto e = uint64_t(exponent); e; e >>= 1, square *= square)
    if (e & 1) result *= square;
  return T(result);
}
template <class T>
CA_INLINE T pow(T a, T b) {
  if constexpr (is_small<T>)
    return convert<T>(pow(convert<float>(a), convert<float>(b)));
  else if constexpr (is_real<T>)
    return CA_C_FUNCTION2(pow, a, b);
  else
    return integer_power(a, b);
}
template <class T>
CA_INLINE vec<T> pow(vec<T> a, vec<T> b) {
  if constexpr (is_small<T>) {
    return convert<T>(pow(convert<float>(a), convert<float>(b)));
  } else if constexpr (is_real<T>) {
    for (int p = 0; p < a.parts; ++p) a.r[p] = mv_pow(a.r[p], b.r[p]);
    return a;
  } else {
    return each(a, b, [](T x, T y) { return integer_power(x, y); });
  }
}

// Division and remainder. Where an integer quotient does not exist (by zero) or does not fit, nothing traps.
template <class T>
CA_INLINE T quotient(T a, T b) {
  if constexpr (is_signed<T>)
    if (b == T(-1)) return T(-uint64_t(a));
  return b == T(0) ? T(0) : T(a / b);
}
template <class T>
CA_INLINE T fmod(T a, T b) {
  if constexpr (is_small<T>)
    return convert<T>(fmod(convert<float>(a), convert<float>(b)));
  else if constexpr (is_real<T>)
    return CA_C_FUNCTION2(fmod, a, b);
  else
    return T(a - quotient(a, b) * b);
}
CA_LANEWISE2(fmod)
template <class T>
CA_INLINE T remainder(T a, T b) {
  if constexpr (is_small<T>)
    return convert<T>(remainder(convert<float>(a), convert<float>(b)));
  else {
    const T left = fmod(a, b);
    return left != T(0) && (b < T(0)) != (left < T(0)) ? T(left + b) : left;
  }
}
CA_LANEWISE2(remainder)
template <class T>
CA_INLINE T div_trunc(T a, T b) {
  if constexpr (is_small<T>)
    return convert<T>(div_trunc(convert<float>(a), convert<float>(b)));
  else if constexpr (is_real<T>)
    return trunc(T(a / b));
  else
    return quotient(a, b);
}
CA_LANEWISE2(div_trunc)
/// Python's floor division: the quotient is taken of what the remainder leaves, then set on the nearest integer,
/// because floor(a / b) is one off where a / b rounds up to an integer.
template <class T>
CA_INLINE T div_floor(T a, T b) {
  if constexpr (is_small<T>) {
    return convert<T>(div_floor(convert<float>(a), convert<float>(b)));
  } else if constexpr (is_real<T>) {
    if (b == T(0)) return a / b;
    const T left = fmod(a, b);
    T whole = (a - left) / b;
    if (left != T(0) && (b < T(0)) != (left < T(0))) whole -= T(1);
    if (whole == T(0)) return with_sign(T(0), a / b);
    const T below = floor(whole);
    return whole - below > T(0.5) ? below + T(1) : below;
  } else {
    const T whole = quotient(a, b), left = T(a - whole * b);
    return left != T(0) && (b < T(0)) != (left < T(0)) ? T(whole - 1) : whole;
  }
}
CA_LANEWISE2(div_floor)

/// One step of the bit pattern of a small float, its own neighbour; the float's neighbour would round back to itself.
template <class T>
CA_INLINE T next_small(T a, T b) {
  const float from = convert<float>(a), to = convert<float>(b);
  if (from != from || to != to) return nan<T>();
  if (from == to) return b;
  if (from == 0) return T{uint16_t(to < 0 ? 0x8001 : 0x0001)};
  return T{uint16_t(a.bits + ((from < to) == (from > 0) ? 1 : -1))};
}
template <class T>
CA_INLINE T nextafter(T a, T b) {
  if constexpr (is_small<T>)
    return next_small(a, b);
  else
    return CA_C_FUNCTION2(nextafter, a, b);
}
CA_LANEWISE2(nextafter)

}  // namespace ca
