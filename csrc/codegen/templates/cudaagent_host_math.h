// The map functions over scalars and vectors, one definition each. Simple ones are register arithmetic; transcendental
// ones go to the C library's vector routines (libmvec, within a few ulp). What is rarer still is in
// cudaagent_host_special.h, which a source includes when it needs it.
#pragma once

#include "cudaagent_host_vector_math.h"

namespace ca {

template <class T>
CA_INLINE T where(bool c, T a, T b) {
  return c ? a : b;
}
template <class T>
CA_INLINE vec<T> where(vec<bool> c, vec<T> a, vec<T> b) {
  const wide_mask<T> m = widen<T>(c);
  vec<T> o;
  for (int p = 0; p < o.parts; ++p) o.r[p] = m.r[p] ? a.r[p] : b.r[p];
  return o;
}

/// `x` in the lanes of a whole vector; in the last `count` only when the vector overlaps what has been counted.
struct all_lanes {
  template <class T>
  CA_INLINE vec<T> operator()(vec<T> x, T) const {
    return x;
  }
  template <class T>
  CA_INLINE T operator()(T x, T) const {
    return x;
  }
};
template <int count>
struct last_lanes {
  template <class T>
  CA_INLINE vec<T> operator()(vec<T> x, T identity) const {
    vec<int32_t> lane = iota<int32_t>(0, 1);
    vec<bool> kept;
    for (int p = 0; p < kept.parts; ++p) kept.r[p] = lane.r[p] >= lanes - count;
    return where(kept, x, vec<T>(identity));
  }
};

// CA_UNARY(name, expression of scalar x, expression of register x)
// CA_BINARY likewise over a and b. Small floats compute in float; R is the register type, T the element's.
#define CA_UNARY(name, scalar, vector)            \
  template <class T>                              \
  CA_INLINE T name(T x) {                         \
    if constexpr (is_small<T>)                    \
      return convert<T>(name(convert<float>(x))); \
    else                                          \
      return T(scalar);                           \
  }                                               \
  template <class T>                              \
  CA_INLINE vec<T> name(vec<T> v) {               \
    if constexpr (is_small<T>) {                  \
      return convert<T>(name(convert<float>(v))); \
    } else {                                      \
      using R = reg<T>;                           \
      vec<T> o;                                   \
      for (int p = 0; p < o.parts; ++p) {         \
        const R x = v.r[p];                       \
        o.r[p] = vector;                          \
      }                                           \
      return o;                                   \
    }                                             \
  }
#define CA_BINARY(name, scalar, vector)                              \
  template <class T>                                                 \
  CA_INLINE T name(T a, T b) {                                       \
    if constexpr (is_small<T>)                                       \
      return convert<T>(name(convert<float>(a), convert<float>(b))); \
    else                                                             \
      return T(scalar);                                              \
  }                                                                  \
  template <class T>                                                 \
  CA_INLINE vec<T> name(vec<T> u, vec<T> v) {                        \
    if constexpr (is_small<T>) {                                     \
      return convert<T>(name(convert<float>(u), convert<float>(v))); \
    } else {                                                         \
      using R = reg<T>;                                              \
      vec<T> o;                                                      \
      for (int p = 0; p < o.parts; ++p) {                            \
        const R a = u.r[p], b = v.r[p];                              \
        o.r[p] = vector;                                             \
      }                                                              \
      return o;                                                      \
    }                                                                \
  }
#define CA_COMPARE(name, op)                                                  \
  template <class T>                                                          \
  CA_INLINE bool name(T a, T b) {                                             \
    if constexpr (is_small<T>)                                                \
      return convert<float>(a) op convert<float>(b);                          \
    else                                                                      \
      return a op b;                                                          \
  }                                                                           \
  template <class T>                                                          \
  CA_INLINE vec<bool> name(vec<T> u, vec<T> v) {                              \
    if constexpr (is_small<T>) {                                              \
      return name(convert<float>(u), convert<float>(v));                      \
    } else if constexpr (same<T, bool>) {                                     \
      vec<bool> o;                                                            \
      for (int p = 0; p < o.parts; ++p) o.r[p] = (u.r[p] & 1) op(v.r[p] & 1); \
      return o;                                                               \
    } else {                                                                  \
      wide_mask<T> m;                                                         \
      for (int p = 0; p < m.parts; ++p) m.r[p] = u.r[p] op v.r[p];            \
      return narrow<T>(m);                                                    \
    }                                                                         \
  }

CA_COMPARE(eq, ==)
CA_COMPARE(ne, !=)
CA_COMPARE(lt, <)
CA_COMPARE(le, <=)
CA_COMPARE(gt, >)
CA_COMPARE(ge, >=)

/// Which lanes of iota(first, step) equal `place`, step above 0: in 32 bits, as masks are, and -1 is no lane's.
CA_INLINE vec<bool> lanes_at(int64_t first, int32_t step, int64_t place) {
  const int64_t off = place - first;
  const int32_t lane = off >= 0 && off < int64_t(step) * lanes ? int32_t(off) : -1;
  return eq(iota<int32_t>(0, step), vec<int32_t>(lane));
}

template <class V>
CA_INLINE auto isnan(V x) {
  return ne(x, x);
}

/// |x| and the sign's bit, as masks of the register.
template <class R, class L>
CA_INLINE auto sign_bits(L) {
  using I = typename signed_of<sizeof(L)>::type;
  typedef I V __attribute__((vector_size(sizeof(R))));
  return V{} + (I(1) << (sizeof(L) * 8 - 1));
}

template <class T>
CA_INLINE T absolute(T x) {
  if constexpr (same<T, float>)
    return __builtin_fabsf(x);
  else if constexpr (same<T, double>)
    return __builtin_fabs(x);
  else if constexpr (is_signed<T>)
    return x < 0 ? T(-uint64_t(x)) : x;
  else
    return x;
}
template <class T, class R>
CA_INLINE R absolute_lanes(R x) {
  if constexpr (is_real<T>)
    return (R)((decltype(sign_bits<R>(T{})))x & ~sign_bits<R>(T{}));
  else if constexpr (is_signed<T>)
    return x < 0 ? -x : x;
  else
    return x;
}
template <class T>
CA_INLINE T with_sign(T magnitude, T sign) {
  if constexpr (same<T, float>)
    return __builtin_copysignf(magnitude, sign);
  else
    return __builtin_copysign(magnitude, sign);
}
template <class T, class R>
CA_INLINE R with_sign_lanes(R magnitude, R sign) {
  using I = decltype(sign_bits<R>(T{}));
  return (R)(((I)magnitude & ~sign_bits<R>(T{})) | ((I)sign & sign_bits<R>(T{})));
}

// Integer arithmetic wraps: scalars through uint64_t, vectors because the sources are compiled with -fwrapv.
#define CA_WRAP(op) (is_real<T> ? T(a op b) : T(uint64_t(a) op uint64_t(b)))

CA_UNARY(neg, (is_real<T> ? T(-x) : T(-uint64_t(x))), -x)
CA_UNARY(abs, absolute<T>(x), absolute_lanes<T>(x))
CA_BINARY(add, CA_WRAP(+), a + b)
CA_BINARY(sub, CA_WRAP(-), a - b)
CA_BINARY(mul, CA_WRAP(*), a* b)
CA_BINARY(div, a / b, a / b)
CA_UNARY(reciprocal, T(1) / x, T(1) / x)
CA_BINARY(copysign, with_sign<T>(a, b), with_sign_lanes<T>(a, b))

#define CA_BITWISE(name, op)                                     \
  CA_INLINE bool name(bool a, bool b) { return (a op b) != 0; }  \
  template <class T>                                             \
  CA_INLINE T name(T a, T b) {                                   \
    return T(a op b);                                            \
  }                                                              \
  template <class T>                                             \
  CA_INLINE vec<T> name(vec<T> a, vec<T> b) {                    \
    for (int p = 0; p < a.parts; ++p) a.r[p] = a.r[p] op b.r[p]; \
    return a;                                                    \
  }
CA_BITWISE(bit_and, &)
CA_BITWISE(bit_or, |)
CA_BITWISE(bit_xor, ^)
CA_INLINE bool bit_not(bool x) { return !x; }
template <class T>
CA_INLINE T bit_not(T x) {
  return T(~x);
}
template <class T>
CA_INLINE vec<T> bit_not(vec<T> x) {
  for (int p = 0; p < x.parts; ++p) x.r[p] = ~x.r[p];
  return x;
}

// A NaN operand wins in max and min and loses in fmax and fmin.
CA_BINARY(max, (a > b || a != a) ? a : b, a != a ? a : (a > b ? a : b))
CA_BINARY(min, (a < b || a != a) ? a : b, a != a ? a : (a < b ? a : b))
CA_BINARY(fmax, (a > b || b != b) ? a : b, b != b ? a : (a > b ? a : b))
CA_BINARY(fmin, (a < b || b != b) ? a : b, b != b ? a : (a < b ? a : b))

// True is the larger bool, but the mask that stands for it is -1.
CA_INLINE vec<bool> max(vec<bool> a, vec<bool> b) { return bit_or(a, b); }
CA_INLINE vec<bool> min(vec<bool> a, vec<bool> b) { return bit_and(a, b); }
CA_INLINE vec<bool> fmax(vec<bool> a, vec<bool> b) { return bit_or(a, b); }
CA_INLINE vec<bool> fmin(vec<bool> a, vec<bool> b) { return bit_and(a, b); }

template <class T>
CA_INLINE T sign(T x) {
  if constexpr (is_small<T>)
    return convert<T>(sign(convert<float>(x)));
  else if constexpr (same<T, bool>)
    return x;
  else
    return x != x ? T(0) : T((x > T(0)) - (x < T(0)));
}
template <class T>
CA_INLINE vec<T> sign(vec<T> x) {
  if constexpr (is_small<T>)
    return convert<T>(sign(convert<float>(x)));
  else if constexpr (same<T, bool>)
    return x;
  else {
    const vec<T> zero(T(0)), one(T(1));
    vec<T> o = where(gt(x, zero), one, zero);
    if constexpr (is_signed<T>) o = where(lt(x, zero), vec<T>(T(-1)), o);
    return o;
  }
}
template <class T>
CA_INLINE bool signbit(T x) {
  if constexpr (is_small<T>)
    return x.bits >> 15;
  else if constexpr (is_real<T>)
    return __builtin_signbit(x);
  else
    return x < T(0);
}
template <class T>
CA_INLINE vec<bool> signbit(vec<T> x) {
  if constexpr (is_small<T>)
    return signbit(widen_small(x));
  else {
    wide_mask<T> m;
    if constexpr (is_signed<T>)
      for (int p = 0; p < m.parts; ++p) m.r[p] = (typename wide_mask<T>::reg)x.r[p] < 0;
    else
      m = wide_mask<T>(0);
    return narrow<T>(m);
  }
}
template <class T>
CA_INLINE bool isinf(T x) {
  return eq(abs(x), inf<T>());
}
template <class T>
CA_INLINE vec<bool> isinf(vec<T> x) {
  return eq(abs(x), vec<T>(inf<T>()));
}

template <class T>
CA_INLINE T fused(T a, T b, T c) {
  if constexpr (same<T, float>)
    return __builtin_fmaf(a, b, c);
  else
    return __builtin_fma(a, b, c);
}
template <class T>
CA_INLINE T fma(T a, T b, T c) {
  if constexpr (is_small<T>)
    return convert<T>(fused(convert<float>(a), convert<float>(b), convert<float>(c)));
  else
    return fused(a, b, c);
}
template <class T>
CA_INLINE vec<T> fma(vec<T> a, vec<T> b, vec<T> c) {
  if constexpr (is_small<T>)
    return convert<T>(fma(convert<float>(a), convert<float>(b), convert<float>(c)));
  else {
    for (int p = 0; p < a.parts; ++p) a.r[p] = fused_lanes(a.r[p], b.r[p], c.r[p]);
    return a;
  }
}

// One lane at a time for functions with no vector form; the compiler vectorises what it can.
template <class T, class F>
CA_INLINE vec<T> each(vec<T> x, F f) {
  T in[lanes], out[lanes];
  store(in, x);
  for (int l = 0; l < lanes; ++l) out[l] = f(in[l]);
  return load(out);
}
template <class T, class F>
CA_INLINE vec<T> each(vec<T> x, vec<T> y, F f) {
  T in[lanes], other[lanes], out[lanes];
  store(in, x);
  store(other, y);
  for (int l = 0; l < lanes; ++l) out[l] = f(in[l], other[l]);
  return load(out);
}
#define CA_LANEWISE(name)                        \
  template <class T>                             \
  CA_INLINE vec<T> name(vec<T> x) {              \
    return each(x, [](T a) { return name(a); }); \
  }
#define CA_LANEWISE2(name)                                  \
  template <class T>                                        \
  CA_INLINE vec<T> name(vec<T> x, vec<T> y) {               \
    return each(x, y, [](T a, T b) { return name(a, b); }); \
  }

// Rounding: integers are whole already.
#define CA_ROUND(name, builtin)                   \
  template <class T>                              \
  CA_INLINE T name(T x) {                         \
    if constexpr (is_small<T>)                    \
      return convert<T>(name(convert<float>(x))); \
    else if constexpr (same<T, float>)            \
      return builtin##f(x);                       \
    else if constexpr (same<T, double>)           \
      return builtin(x);                          \
    else                                          \
      return x;                                   \
  }                                               \
  CA_LANEWISE(name)
CA_ROUND(floor, __builtin_floor)
CA_ROUND(ceil, __builtin_ceil)
CA_ROUND(round, __builtin_rint)
CA_ROUND(trunc, __builtin_trunc)
CA_ROUND(sqrt, __builtin_sqrt)

template <class T>
CA_INLINE T rsqrt(T x) {
  if constexpr (is_small<T>)
    return convert<T>(rsqrt(convert<float>(x)));
  else
    return reciprocal(sqrt(x));
}
template <class T>
CA_INLINE vec<T> rsqrt(vec<T> v) {
  if constexpr (is_small<T>)
    return convert<T>(rsqrt(convert<float>(v)));
  else
    return reciprocal(sqrt(v));
}

template <class T>
CA_INLINE T shl(T a, T b) {
  return b < T(0) || uint64_t(b) >= sizeof(T) * 8 ? T(0) : T(uint64_t(a) << b);
}
CA_LANEWISE2(shl)
template <class T>
CA_INLINE T shr(T a, T b) {
  // Past the width only the sign is left.
  constexpr int most = int(sizeof(T)) * 8 - (is_signed<T> ? 1 : 0);
  const int by = b < T(0) || int64_t(b) >= most ? most : int(b);
  return T(int64_t(a) >> by);
}
CA_LANEWISE2(shr)

}  // namespace ca

#include "cudaagent_host_transcendental.h"
