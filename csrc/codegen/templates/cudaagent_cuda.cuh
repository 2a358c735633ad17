// The prelude of every generated CUDA source: element types, the map functions, vectors in memory, and reductions of
// a warp, a block or a cluster. NVRTC compiles it without any header.
//
// Floats are within a few ulp of exact: CUDA's own library functions without fast-math, IEEE division and roots.
// With CA_EMULATE defined, g++ compiles it against tests/support/cuda_emulation.h, which plays the machine.
#pragma once

#ifndef CA_EMULATE
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;
#define CA_SHARED(name, count, ...) __shared__ __VA_ARGS__ name[count]
#define CA_DYNAMIC_SHARED(name, bytes) extern __shared__ __align__(16) char name[]
#endif
#define CA_FN __device__ __forceinline__

namespace ca {

// ---- element types -------------------------------------------------------------------------------------------------

template <class A, class B>
inline constexpr bool same = false;
template <class A>
inline constexpr bool same<A, A> = true;

#ifdef CA_EMULATE
using emulation::half_from_float, emulation::float_from_half, emulation::bfloat16_from_float;
#else
CA_FN uint16_t half_from_float(float x) {
  uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
CA_FN float float_from_half(uint16_t bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
CA_FN uint16_t bfloat16_from_float(float x) {
  uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#endif

struct half {
  uint16_t bits;
  half() = default;
  CA_FN explicit half(float x) : bits(half_from_float(x)) {}
  CA_FN explicit operator float() const { return float_from_half(bits); }
};
struct bfloat16 {
  uint16_t bits;
  bfloat16() = default;
  CA_FN explicit bfloat16(float x) : bits(bfloat16_from_float(x)) {}
  CA_FN explicit operator float() const { return __uint_as_float(uint32_t(bits) << 16); }
};

template <class T>
CA_FN T from_bits(uint16_t bits) {
  T x;
  x.bits = bits;
  return x;
}

template <class T>
inline constexpr bool is_narrow = same<T, half> || same<T, bfloat16>;
template <class T>
inline constexpr bool is_float = is_narrow<T> || same<T, float> || same<T, double>;

/// The type arithmetic is done in.
template <class T>
CA_FN auto up(T x) {
  if constexpr (is_narrow<T>) return float(x);
  else return x;
}

template <class T>
CA_FN T inf() {
  if constexpr (same<T, double>) return __longlong_as_double(0x7ff0000000000000ll);
  else return T(__uint_as_float(0x7f800000u));
}
template <class T>
CA_FN T nan() {
  if constexpr (same<T, double>) return __longlong_as_double(0x7ff8000000000000ll);
  else return T(__uint_as_float(0x7fc00000u));
}

template <class To, class From>
CA_FN To convert(From from) {
  const auto x = up(from);
  if constexpr (same<To, From>) return from;
  else if constexpr (same<To, bool>) return x != 0;
  else if constexpr (is_narrow<To>) return To(float(x));
  // Through a wider integer: what a negative or large float becomes then depends on the low bits alone, as in torch.
  else if constexpr (is_float<From> && same<To, uint8_t>) return To(int64_t(x));
  else if constexpr (is_float<From> && sizeof(To) < 4) return To(int32_t(x));
  else return To(x);
}

// ---- map functions -------------------------------------------------------------------------------------------------

#define CA_UNARY(name, expression32, expression64)                      \
  CA_FN float name(float x) { return expression32; }                    \
  CA_FN double name(double x) { return expression64; }                  \
  CA_FN half name(half x) { return half(name(float(x))); }              \
  CA_FN bfloat16 name(bfloat16 x) { return bfloat16(name(float(x))); }
#define CA_BINARY(name, expression32, expression64)                                                  \
  CA_FN float name(float x, float y) { return expression32; }                                        \
  CA_FN double name(double x, double y) { return expression64; }                                     \
  CA_FN half name(half x, half y) { return half(name(float(x), float(y))); }                         \
  CA_FN bfloat16 name(bfloat16 x, bfloat16 y) { return bfloat16(name(float(x), float(y))); }

CA_UNARY(exp, ::expf(x), ::exp(x))
CA_UNARY(exp2, ::exp2f(x), ::exp2(x))
CA_UNARY(expm1, ::expm1f(x), ::expm1(x))
CA_UNARY(log, ::logf(x), ::log(x))
CA_UNARY(log2, ::log2f(x), ::log2(x))
CA_UNARY(log10, ::log10f(x), ::log10(x))
CA_UNARY(log1p, ::log1pf(x), ::log1p(x))
CA_UNARY(sqrt, ::sqrtf(x), ::sqrt(x))
CA_UNARY(rsqrt, ::rsqrtf(x), ::rsqrt(x))
CA_UNARY(reciprocal, 1.0f / x, 1.0 / x)
CA_UNARY(sin, ::sinf(x), ::sin(x))
CA_UNARY(cos, ::cosf(x), ::cos(x))
CA_UNARY(tan, ::tanf(x), ::tan(x))
CA_UNARY(asin, ::asinf(x), ::asin(x))
CA_UNARY(acos, ::acosf(x), ::acos(x))
CA_UNARY(atan, ::atanf(x), ::atan(x))
CA_UNARY(sinh, ::sinhf(x), ::sinh(x))
CA_UNARY(cosh, ::coshf(x), ::cosh(x))
CA_UNARY(asinh, ::asinhf(x), ::asinh(x))
CA_UNARY(acosh, ::acoshf(x), ::acosh(x))
CA_UNARY(atanh, ::atanhf(x), ::atanh(x))
CA_UNARY(erf, ::erff(x), ::erf(x))
CA_UNARY(erfc, ::erfcf(x), ::erfc(x))
CA_UNARY(erfinv, ::erfinvf(x), ::erfinv(x))
CA_UNARY(lgamma, ::lgammaf(x), ::lgamma(x))
CA_UNARY(i0, ::cyl_bessel_i0f(x), ::cyl_bessel_i0(x))
CA_UNARY(i1, ::cyl_bessel_i1f(x), ::cyl_bessel_i1(x))
CA_BINARY(div, x / y, x / y)
/// A divisor that many elements share. Where neither quotient nor remainder can leave the normal numbers, one correction
/// of the product with its reciprocal is the correctly rounded quotient (Markstein, IBM J. Res. Dev. 34, 1990).
struct Divisor {
  float value, reciprocal;
  bool plain;
  CA_FN explicit Divisor(float x)
      : value(x), reciprocal(1.0f / x), plain(::fabsf(x) >= 0x1p-30f && ::fabsf(x) <= 0x1p60f) {}
};
CA_FN float div(float x, const Divisor& y) {
  const float q = x * y.reciprocal, size = ::fabsf(q);
  if (y.plain && size >= 0x1p-70f && size <= 0x1p60f) return ::fmaf(::fmaf(-q, y.value, x), y.reciprocal, q);
  return y.plain && x == 0 ? q : x / y.value;
}

CA_BINARY(atan2, ::atan2f(x, y), ::atan2(x, y))
CA_BINARY(hypot, ::hypotf(x, y), ::hypot(x, y))
CA_BINARY(copysign, ::copysignf(x, y), ::copysign(x, y))

#ifdef CA_EMULATE
CA_FN float reciprocal_approximate(float x) { return 1.0f / x; }
CA_FN float reciprocal_flushing(float x) { return 1.0f / x; }
CA_FN float exp2_approximate(float x) { return ::exp2f(x); }
#else
/// Within one ulp; a subnormal result is zero.
CA_FN float reciprocal_flushing(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// Within two ulp; subnormal results are zero.
CA_FN float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// Within one ulp, subnormal results included.
CA_FN float reciprocal_approximate(float x) {
  float y;
  asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#endif
CA_UNARY(sigmoid, reciprocal_approximate(1.0f + ::expf(-x)), 1.0 / (1.0 + ::exp(-x)))

/// Both branches at once, a third of the library's instructions, within three ulp: an odd polynomial (minimax on
/// [0, 0.6]) near zero, 1 - 2 / (exp(2|x|) + 1) further out.
CA_FN float tanh32(float x) {
  const float z = x * x;
  float p = -0x1.825844p-8f;
  p = ::fmaf(p, z, 0x1.54b89cp-6f);
  p = ::fmaf(p, z, -0x1.b898dep-5f);
  p = ::fmaf(p, z, 0x1.1109aep-3f);
  p = ::fmaf(p, z, -0x1.55553ep-2f);
  const float near = ::fmaf(p * z, x, x);
  const float far = ::fmaf(-2.0f, reciprocal_flushing(exp2_approximate(::fabsf(x) * 0x1.715476p+1f) + 1.0f), 1.0f);
  return ::fabsf(x) < 0.6f ? near : ::copysignf(far, x);
}
CA_UNARY(tanh, tanh32(x), ::tanh(x))

/// Reflection below zero, recurrence up to 10, then the asymptotic series.
template <class F>
CA_FN F digamma_of(F x) {
  if (x == 0) return x * 0 - (__double_as_longlong(double(x)) < 0 ? -inf<F>() : inf<F>());
  F result = 0;
  if (x < 0) {
    if (x == ::trunc(x)) return nan<F>();
    // The fractional part keeps the tangent's argument small.
    const F part = x - ::trunc(x);
    result = -F(3.14159265358979323846) / F(::tan(3.14159265358979323846 * double(part)));
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  if (x == 10) return result + F(2.25175258906672110764);
  const F y = x < F(1e17) ? 1 / (x * x) : F(0);
  const F series =
      y * (F(8.33333333333333333333e-2) -
           y * (F(8.33333333333333333333e-3) -
                y * (F(3.96825396825396825397e-3) -
                     y * (F(4.16666666666666666667e-3) -
                          y * (F(7.57575757575757575758e-3) -
                               y * (F(2.10927960927960927961e-2) - y * F(8.33333333333333333333e-2)))))));
  return result + F(::log(x)) - F(0.5) / x - series;
}
CA_UNARY(digamma, digamma_of(x), digamma_of(x))

#define CA_ROUNDING(name, expression32, expression64)  \
  CA_UNARY(name, expression32, expression64)           \
  template <class T>                                   \
  CA_FN T name(T x) {                                  \
    return x;                                          \
  }
CA_ROUNDING(floor, ::floorf(x), ::floor(x))
CA_ROUNDING(ceil, ::ceilf(x), ::ceil(x))
CA_ROUNDING(trunc, ::truncf(x), ::trunc(x))
CA_ROUNDING(round, ::rintf(x), ::rint(x))

/// Wrapping integer arithmetic: overflow is torch's, not undefined.
template <class T>
CA_FN auto wrapping(T x) {
  if constexpr (is_float<T>) return up(x);
  else if constexpr (sizeof(T) == 8) return uint64_t(x);
  else return uint32_t(x);
}
template <class T>
CA_FN T add(T x, T y) { return T(wrapping(x) + wrapping(y)); }
template <class T>
CA_FN T sub(T x, T y) { return T(wrapping(x) - wrapping(y)); }
template <class T>
CA_FN T mul(T x, T y) { return T(wrapping(x) * wrapping(y)); }
template <class T>
CA_FN T neg(T x) {
  if constexpr (is_float<T>) return T(-up(x));
  else return T(0 - wrapping(x));
}
template <class T>
CA_FN T abs(T x) {
  if constexpr (same<T, double>) return ::fabs(x);
  else if constexpr (is_float<T>) return T(::fabsf(float(x)));
  else return x < T(0) ? neg(x) : x;
}
template <class T>
CA_FN T sign(T x) {
  if constexpr (same<T, bool>) return x;
  else if constexpr (is_narrow<T>) return T(float(float(x) > 0) - float(float(x) < 0));
  else return T(T(x > 0) - T(x < 0));
}
template <class T>
CA_FN bool isnan(T x) {
  if constexpr (is_float<T>) return up(x) != up(x);
  else return false;
}
template <class T>
CA_FN bool isinf(T x) {
  if constexpr (is_float<T>) return abs(up(x)) == inf<decltype(up(x))>();
  else return false;
}
template <class T>
CA_FN bool signbit(T x) {
  if constexpr (is_narrow<T>) return x.bits >> 15;
  else if constexpr (same<T, float>) return __float_as_int(x) < 0;
  else if constexpr (same<T, double>) return __double_as_longlong(x) < 0;
  else return x < T(0);
}

template <class T>
CA_FN T fmod(T x, T y) {
  if constexpr (same<T, double>) return ::fmod(x, y);
  else if constexpr (is_float<T>) return T(::fmodf(float(x), float(y)));
  else return T(x % y);
}
template <class T>
CA_FN T remainder(T x, T y) {
  const auto divisor = up(y);
  auto rest = fmod(up(x), divisor);
  if (rest != 0 && (rest < 0) != (divisor < 0)) rest += divisor;
  return T(rest);
}
template <class T>
CA_FN T div_trunc(T x, T y) {
  if constexpr (is_float<T>) return T(trunc(up(x) / up(y)));
  else return T(x / y);
}
template <class T>
CA_FN T div_floor(T x, T y) {
  if constexpr (is_float<T>) {
    const auto a = up(x), b = up(y);
    if (b == 0) return T(a / b);
    const auto rest = fmod(a, b);
    auto quotient = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return T(copysign(quotient, a / b));
    auto whole = floor(quotient);
    if (quotient - whole > decltype(whole)(0.5)) whole += 1;
    return T(whole);
  } else {
    const T quotient = T(x / y);
    return x % y != 0 && (x < T(0)) != (y < T(0)) ? T(quotient - 1) : quotient;
  }
}
template <class T>
CA_FN T pow(T x, T y) {
  if constexpr (same<T, double>) return ::pow(x, y);
  else if constexpr (is_float<T>) return T(::powf(float(x), float(y)));
  else {
    if (y < T(0)) return x == T(1) ? T(1) : x == T(-1) ? T(y % 2 == 0 ? 1 : -1) : T(0);
    T result = T(1);
    for (auto left = wrapping(y); left != 0; left >>= 1) {
      if (left & 1) result = mul(result, x);
      x = mul(x, x);
    }
    return result;
  }
}
CA_FN float nextafter(float x, float y) { return ::nextafterf(x, y); }
CA_FN double nextafter(double x, double y) { return ::nextafter(x, y); }
/// One step of the 16-bit pattern, which is ordered as the values are on either side of zero.
template <class T>
CA_FN T nextafter(T x, T y) {
  if (isnan(x) || isnan(y)) return nan<T>();
  if (float(x) == float(y)) return y;
  if (float(x) == 0) return from_bits<T>(uint16_t(1 | (float(y) < 0 ? 0x8000 : 0)));
  return from_bits<T>(uint16_t((float(x) < float(y)) == (float(x) > 0) ? x.bits + 1 : x.bits - 1));
}

#ifdef CA_EMULATE
CA_FN float max32(float x, float y) { return x != x ? x : y != y ? y : x > y ? x : y; }
CA_FN float min32(float x, float y) { return x != x ? x : y != y ? y : x < y ? x : y; }
#else
CA_FN float max32(float x, float y) {
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
CA_FN float min32(float x, float y) {
  float z;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
}
#endif
template <class T>
CA_FN T max(T x, T y) {
  if constexpr (same<T, double>) return x != x || x > y ? x : y;
  else if constexpr (is_float<T>) return T(max32(float(x), float(y)));
  else return x > y ? x : y;
}
template <class T>
CA_FN T min(T x, T y) {
  if constexpr (same<T, double>) return x != x || x < y ? x : y;
  else if constexpr (is_float<T>) return T(min32(float(x), float(y)));
  else return x < y ? x : y;
}
template <class T>
CA_FN T fmax(T x, T y) {
  if constexpr (same<T, double>) return ::fmax(x, y);
  else if constexpr (is_float<T>) return T(::fmaxf(float(x), float(y)));
  else return max(x, y);
}
template <class T>
CA_FN T fmin(T x, T y) {
  if constexpr (same<T, double>) return ::fmin(x, y);
  else if constexpr (is_float<T>) return T(::fminf(float(x), float(y)));
  else return min(x, y);
}
template <class T>
CA_FN T fma(T x, T y, T z) {
  if constexpr (same<T, double>) return ::fma(x, y, z);
  else return T(::fmaf(float(x), float(y), float(z)));
}

template <class T>
CA_FN bool eq(T x, T y) { return up(x) == up(y); }
template <class T>
CA_FN bool ne(T x, T y) { return up(x) != up(y); }
template <class T>
CA_FN bool lt(T x, T y) { return up(x) < up(y); }
template <class T>
CA_FN bool le(T x, T y) { return up(x) <= up(y); }
template <class T>
CA_FN bool gt(T x, T y) { return up(x) > up(y); }
template <class T>
CA_FN bool ge(T x, T y) { return up(x) >= up(y); }
/// Whether `position`, not negative, is the wanted one.
CA_FN bool is_at(int position, int64_t wanted) { return uint32_t(wanted) == uint32_t(position) && wanted >> 32 == 0; }
template <class T>
CA_FN T bit_and(T x, T y) { return T(x & y); }
template <class T>
CA_FN T bit_or(T x, T y) { return T(x | y); }
template <class T>
CA_FN T bit_xor(T x, T y) { return T(x ^ y); }
template <class T>
CA_FN T bit_not(T x) {
  if constexpr (same<T, bool>) return !x;
  else return T(~x);
}
template <class T>
CA_FN T shl(T x, T y) {
  return y < T(0) || y >= T(sizeof(T) * 8) ? T(0) : T(wrapping(x) << y);
}
template <class T>
CA_FN T shr(T x, T y) {
  return y < T(0) || y >= T(sizeof(T) * 8) ? T(x < T(0) ? -1 : 0) : T(x >> y);
}
template <class T>
CA_FN T where(bool condition, T x, T y) { return condition ? x : y; }

// ---- memory --------------------------------------------------------------------------------------------------------

template <class T, int N>
struct alignas(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) Vec {
  T at[N];
  CA_FN T& operator[](int i) { return at[i]; }
  CA_FN const T& operator[](int i) const { return at[i]; }
};

template <int bytes>
CA_FN auto word() {
  if constexpr (bytes % 16 == 0) return uint4{};
  else if constexpr (bytes == 8) return uint2{};
  else if constexpr (bytes == 4) return 0u;
  else if constexpr (bytes == 2) return uint16_t(0);
  else return uint8_t(0);
}

/// N neighbours from an address that is a multiple of their size (of 16 past that). No cache hints: on an H200 evict-first
/// loads and stores cost 4 to 6 % (docs/tuning/memory_bound.md).
template <int N, class T>
CA_FN Vec<T, N> load(const T* from) {
  using Word = decltype(word<sizeof(T) * N>());
  Vec<T, N> to;
#pragma unroll
  for (int k = 0; k < int(sizeof(to) / sizeof(Word)); ++k) {
    const Word* at = reinterpret_cast<const Word*>(from) + k;
    const Word bits = *at;
    memcpy(reinterpret_cast<char*>(&to) + k * sizeof(Word), &bits, sizeof(Word));
  }
  return to;
}
template <class T, int N>
CA_FN void store(T* to, const Vec<T, N>& from) {
  using Word = decltype(word<sizeof(T) * N>());
#pragma unroll
  for (int k = 0; k < int(sizeof(from) / sizeof(Word)); ++k) {
    Word bits;
    memcpy(&bits, reinterpret_cast<const char*>(&from) + k * sizeof(Word), sizeof(Word));
    reinterpret_cast<Word*>(to)[k] = bits;
  }
}
/// N elements `stride` apart.
template <int N, class T>
CA_FN Vec<T, N> gather(const T* from, int64_t stride) {
  Vec<T, N> to;
#pragma unroll
  for (int k = 0; k < N; ++k) to[k] = from[k * stride];
  return to;
}
template <class T, int N>
CA_FN void scatter(T* to, int64_t stride, const Vec<T, N>& from) {
#pragma unroll
  for (int k = 0; k < N; ++k) to[k * stride] = from[k];
}

/// Starts the copy of one vector of 4, 8 or 16 bytes into shared memory. The thread that started it may read it after
/// wait_for_copies.
#ifdef CA_EMULATE
template <class T, int N>
CA_FN void start_copy(Vec<T, N>* to, const T* from) {
  emulation::start_copy(to, from, sizeof(T) * N);
}
CA_FN void wait_for_copies() { emulation::finish_copies(); }
#else
template <class T, int N>
CA_FN void start_copy(Vec<T, N>* to, const T* from) {
  const uint32_t address = uint32_t(__cvta_generic_to_shared(to));
  if constexpr (sizeof(T) * N == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(int(sizeof(T) * N))
                 : "memory");
}
CA_FN void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#endif

/// Whether every pointer is a multiple of 16 bytes.
template <class... T>
CA_FN bool aligned(const T*... pointers) {
  return ((reinterpret_cast<uint64_t>(pointers) | ...) & 15) == 0;
}

/// Programmatic dependent launch: waits until the kernels before this one are done and their writes are seen, then
/// lets the next one take its place on the machine. Every thread calls it before it touches memory.
CA_FN void wait_for_producers() {
#if !defined(CA_EMULATE) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// ---- reductions ----------------------------------------------------------------------------------------------------

/// A value with its position in the row; the accumulator of argmax and argmin.
template <class T, class I>
struct Indexed {
  T value;
  I index;
};

/// NaN above all; among equals the first position.
template <class T, class I>
CA_FN Indexed<T, I> argmax(Indexed<T, I> x, Indexed<T, I> y) {
  const bool first = x.index < y.index;
  const bool keep = isnan(x.value) ? !isnan(y.value) || first : x.value > y.value || (x.value == y.value && first);
  return keep ? x : y;
}
template <class T, class I>
CA_FN Indexed<T, I> argmin(Indexed<T, I> x, Indexed<T, I> y) {
  const bool first = x.index < y.index;
  const bool keep = isnan(x.value) ? !isnan(y.value) || first : x.value < y.value || (x.value == y.value && first);
  return keep ? x : y;
}

/// The accumulator after one more element, whose position is past all that it met; fewer steps than joining.
template <class T, class I>
CA_FN Indexed<T, I> argmax_next(Indexed<T, I> x, T value, I index) {
  return !(value <= x.value) && !isnan(x.value) ? Indexed<T, I>{value, index} : x;
}
template <class T, class I>
CA_FN Indexed<T, I> argmin_next(Indexed<T, I> x, T value, I index) {
  return !(value >= x.value) && !isnan(x.value) ? Indexed<T, I>{value, index} : x;
}
/// The position found. Where no element beat the start value all equal it, and the first is meant.
template <class T, class I>
CA_FN int64_t found(Indexed<T, I> x) {
  constexpr I none = I((uint64_t(1) << (sizeof(I) * 8 - 1)) - 1);
  return x.index == none ? 0 : x.index;
}

template <class T>
CA_FN T shuffle_xor(T x, int lanes) {
  constexpr int words = (sizeof(T) + 3) / 4;
  uint32_t bits[words] = {};
  memcpy(bits, &x, sizeof(T));
#pragma unroll
  for (int k = 0; k < words; ++k) bits[k] = __shfl_xor_sync(0xffffffffu, bits[k], lanes);
  memcpy(&x, bits, sizeof(T));
  return x;
}

/// Joins the elements of a thread's vector into the first.
template <class T, int N, class Join>
CA_FN void join_vector(T (&x)[N], Join join) {
#pragma unroll
  for (int e = 1; e < N; ++e) x[0] = join(x[0], x[e]);
}

/// Joins over each aligned group of `width` lanes; every lane gets the result, the same to the bit.
template <int width, class T, class Join>
CA_FN T reduce_lanes(T x, Join join) {
#pragma unroll
  for (int lanes = width / 2; lanes > 0; lanes /= 2) x = join(x, shuffle_xor(x, lanes));
  return x;
}

#ifdef CA_EMULATE
using emulation::cluster_arrive, emulation::cluster_wait, emulation::cluster_rank, emulation::store_to_rank;
#else
CA_FN void cluster_arrive() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
CA_FN void cluster_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
CA_FN int cluster_rank() {
  unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return int(rank);
}
/// Writes `x` where block `rank` of the cluster has the shared variable `to`.
template <class T>
CA_FN void store_to_rank(T* to, int rank, T x) {
#if __CUDA_ARCH__ >= 900
  constexpr int words = (sizeof(T) + 3) / 4;
  uint32_t bits[words] = {};
  memcpy(bits, &x, sizeof(T));
  uint32_t address = uint32_t(__cvta_generic_to_shared(to));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(address), "r"(rank));
#pragma unroll
  for (int k = 0; k < words; ++k)
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address + 4 * k), "r"(bits[k]) : "memory");
#endif
}
#endif

/// One accumulator in shared memory; at least a word wide so that another block can write it whole.
template <class T>
struct alignas(sizeof(T) < 4 ? 4 : alignof(T)) Slot {
  T value;
};

/// The three steps of joining over the `warps` warps of each of a block's groups and over the blocks of a cluster: post,
/// meet, collect. Several reductions share one meeting. `slots` holds groups * warps * cluster entries and serves one
/// reduction once; `group` is the thread's.
template <int warps, int cluster, class T, class Join>
CA_FN void post(T x, Slot<T>* slots, int group, Join join) {
  x = reduce_lanes<32>(x, join);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % warps;
  if constexpr (cluster == 1) {
    if (lane == 0) slots[group * warps + warp].value = x;
  } else {
    if (lane < cluster) store_to_rank(&slots[cluster_rank() * warps + warp], lane, Slot<T>{x});
  }
}
template <int cluster>
CA_FN void meet() {
  if constexpr (cluster == 1) {
    __syncthreads();
  } else {
    cluster_arrive();
    cluster_wait();
  }
}
template <int warps, int cluster, class T, class Join>
CA_FN T collect(T identity, const Slot<T>* slots, int group, Join join) {
  T x = identity;
#pragma unroll
  for (int k = threadIdx.x % 32; k < warps * cluster; k += 32) x = join(x, slots[group * warps + k].value);
  return reduce_lanes<32>(x, join);
}

/// Joins over the `rows` rows of a block of `columns` * N columns held N a thread; every row gets the result.
/// `slots` holds rows * columns * N entries and is used for this one reduction alone.
template <int rows, int columns, int N, class T, class Join>
CA_FN void reduce_block_columns(T (&x)[N], T* slots, Join join) {
  const int column = threadIdx.x % columns, row = threadIdx.x / columns;
#pragma unroll
  for (int e = 0; e < N; ++e) slots[(row * N + e) * columns + column] = x[e];
  __syncthreads();
#pragma unroll
  for (int e = 0; e < N; ++e) {
    x[e] = slots[e * columns + column];
    for (int r = 1; r < rows; ++r) x[e] = join(x[e], slots[(r * N + e) * columns + column]);
  }
}

}  // namespace ca
