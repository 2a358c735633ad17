// Prelude of every generated host source: element types, vectors of CA_LANES lanes, memory access, conversions.
//
// Every vector of one kernel has the same number of lanes whatever its element type, so a value keeps its lane through
// conversions; a type too wide for one register takes several. Only <cstdint> is included and builtins stand in for
// <cmath>: a kernel's compile time is mostly its headers'. Needs -O2 or more; meant for -O3 -march=native
// -fno-math-errno -fno-trapping-math -ffp-contract=off. Nothing here survives -ffast-math.
#pragma once

#include <cstdint>

#ifndef CA_LANES
#define CA_LANES 16
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define CA_REGISTER 64
#elif defined(__AVX2__)
#define CA_REGISTER 32
#else
#define CA_REGISTER 16
#endif
#define CA_INLINE inline __attribute__((always_inline))

namespace ca {

inline constexpr int lanes = CA_LANES;

struct half {
  uint16_t bits;
};
struct bfloat16 {
  uint16_t bits;
};

template <class T>
inline constexpr bool is_small = false;  ///< computes in float
template <>
inline constexpr bool is_small<half> = true;
template <>
inline constexpr bool is_small<bfloat16> = true;
template <class T>
inline constexpr bool is_real = false;
template <>
inline constexpr bool is_real<float> = true;
template <>
inline constexpr bool is_real<double> = true;
template <class A, class B>
inline constexpr bool same = false;
template <class A>
inline constexpr bool same<A, A> = true;
template <class T>
inline constexpr bool is_signed = is_real<T> || T(-1) < T(0);

template <class T>
CA_INLINE T from_bits(uint16_t bits) {
  return T{bits};
}
template <class T>
CA_INLINE T inf() {
  if constexpr (is_small<T>)
    return T{uint16_t(same<T, half> ? 0x7c00 : 0x7f80)};
  else
    return T(__builtin_inf());
}
template <class T>
CA_INLINE T nan() {
  if constexpr (is_small<T>)
    return T{uint16_t(same<T, half> ? 0x7e00 : 0x7fc0)};
  else
    return T(__builtin_nan(""));
}
CA_INLINE half operator-(half x) { return {uint16_t(x.bits ^ 0x8000)}; }
CA_INLINE bfloat16 operator-(bfloat16 x) { return {uint16_t(x.bits ^ 0x8000)}; }

template <class S, int n>
struct pack {
  typedef S type __attribute__((vector_size(n * sizeof(S))));
};
template <int bytes>
struct signed_of;
template <>
struct signed_of<1> {
  using type = int8_t;
};
template <>
struct signed_of<2> {
  using type = int16_t;
};
template <>
struct signed_of<4> {
  using type = int32_t;
};
template <>
struct signed_of<8> {
  using type = int64_t;
};

/// What a lane holds: the type itself, the bits of a small float, and for bool 0 or -1 in 32 bits (a mask of f32
/// lanes).
template <class T>
struct lane_of {
  using type = T;
};
template <>
struct lane_of<half> {
  using type = uint16_t;
};
template <>
struct lane_of<bfloat16> {
  using type = uint16_t;
};
template <>
struct lane_of<bool> {
  using type = int32_t;
};

template <class T>
struct vec {
  using lane = typename lane_of<T>::type;
  static constexpr int per = lanes * int(sizeof(lane)) > CA_REGISTER ? CA_REGISTER / int(sizeof(lane)) : lanes;
  static constexpr int parts = lanes / per;
  using reg = typename pack<lane, per>::type;
  reg r[parts];

  vec() = default;
  CA_INLINE explicit vec(T x) {
    lane value;
    if constexpr (same<T, bool>)
      value = -lane(x);
    else if constexpr (is_small<T>)
      value = x.bits;
    else
      value = x;
    for (int p = 0; p < parts; ++p) r[p] = value - reg{};
  }
};
template <class T>
using reg = typename vec<T>::reg;

template <class D, class S, int n>
CA_INLINE auto cast_register(typename pack<S, n>::type from) {
  using To = typename pack<D, n>::type;
#if CA_REGISTER >= 64
  // Left to itself g++ converts these in halves and puts the halves together.
  typedef short narrow_lanes __attribute__((vector_size(32)));
  typedef int wide_lanes __attribute__((vector_size(64)));
  constexpr bool whole = n == 16 && !is_real<S> && !is_real<D>;
  if constexpr (whole && sizeof(S) == 2 && sizeof(D) == 4 && is_signed<S>)
    return (To)__builtin_ia32_pmovsxwd512_mask((narrow_lanes)from, wide_lanes{}, uint16_t(-1));
  else if constexpr (whole && sizeof(S) == 2 && sizeof(D) == 4)
    return (To)__builtin_ia32_pmovzxwd512_mask((narrow_lanes)from, wide_lanes{}, uint16_t(-1));
  else if constexpr (whole && sizeof(S) == 4 && sizeof(D) == 2)
    return (To)__builtin_ia32_pmovdw512_mask((wide_lanes)from, narrow_lanes{}, uint16_t(-1));
  else
#endif
    return __builtin_convertvector(from, To);
}

template <int... k>
struct indices {};
template <class V, int... k>
CA_INLINE auto side_by_side(V low, V high, indices<k...>) {
  return __builtin_shufflevector(low, high, k...);
}

/// Lanes converted one by one as static_cast does, `n` at a time, as many as fit one register of either type. Integers
/// change their width by a factor of two a step: the compiler takes longer strides lane by lane.
template <class D, class S>
CA_INLINE void cast_lanes(void* out, const void* in) {
  constexpr int to_size = int(sizeof(D)), from_size = int(sizeof(S));
  if constexpr (!is_real<S> && is_real<D> && from_size < 4) {
    int32_t between[lanes];
    cast_lanes<int32_t, S>(between, in);
    cast_lanes<D, int32_t>(out, between);
  } else if constexpr (!is_real<S> && !is_real<D> && (to_size > 2 * from_size || from_size > 2 * to_size)) {
    // The sign of the source decides how it widens.
    using Between = typename signed_of<(from_size > to_size ? from_size / 2 : from_size * 2)>::type;
    Between between[lanes];
    cast_lanes<Between, S>(between, in);
    cast_lanes<D, Between>(out, between);
  } else {
    constexpr int widest = to_size > from_size ? to_size : from_size;
    constexpr int n = lanes * widest > CA_REGISTER ? CA_REGISTER / widest : lanes;
    const auto part = [&](int q) __attribute__((always_inline)) {
      typename pack<S, n>::type from;
      __builtin_memcpy(&from, static_cast<const char*>(in) + q * sizeof from, sizeof from);
      return cast_register<D, S, n>(from);
    };
    if constexpr (lanes == 2 * n && lanes * to_size <= CA_REGISTER) {
      // Two stores that one load reads back would wait for each other in memory.
      const auto both = side_by_side(part(0), part(1), indices<__integer_pack(lanes)...>{});
      __builtin_memcpy(out, &both, sizeof both);
    } else {
      for (int q = 0; q < lanes / n; ++q) {
        const auto to = part(q);
        __builtin_memcpy(static_cast<char*>(out) + q * sizeof to, &to, sizeof to);
      }
    }
  }
}
/// A mask whose lanes are as wide as T's.
template <class T>
using wide_mask = vec<typename signed_of<sizeof(typename vec<T>::lane)>::type>;
template <class T>
CA_INLINE wide_mask<T> widen(vec<bool> m) {
  wide_mask<T> o;
  cast_lanes<typename wide_mask<T>::lane, int32_t>(o.r, m.r);
  return o;
}
template <class T>
CA_INLINE vec<bool> narrow(wide_mask<T> m) {
  vec<bool> o;
  cast_lanes<int32_t, typename wide_mask<T>::lane>(o.r, m.r);
  return o;
}

template <class T>
CA_INLINE vec<T> load(const T* p) {
  vec<T> o;
  if constexpr (same<T, bool>) {
    typename pack<int8_t, lanes>::type bytes;
    __builtin_memcpy(&bytes, p, lanes);
    bytes = bytes != 0;
    cast_lanes<int32_t, int8_t>(o.r, &bytes);
  } else {
    __builtin_memcpy(&o, p, sizeof o);
  }
  return o;
}
template <class T>
CA_INLINE void store(T* p, vec<T> x) {
  if constexpr (same<T, bool>) {
    typename pack<int8_t, lanes>::type bytes;
    cast_lanes<int8_t, int32_t>(&bytes, x.r);
    bytes = bytes & 1;
    __builtin_memcpy(p, &bytes, lanes);
  } else {
    __builtin_memcpy(p, &x, sizeof x);
  }
}
/// Past the caches, for outputs nobody reads soon. `p` must be aligned to the vector; bool and short vectors go the
/// usual way.
template <class T>
CA_INLINE void stream(T* p, vec<T> x) {
  typedef long long v2 __attribute__((vector_size(16), may_alias));
  typedef long long v4 __attribute__((vector_size(32), may_alias));
  typedef long long v8 __attribute__((vector_size(64), may_alias));
  if constexpr (same<T, bool> || sizeof(reg<T>) < 16) {
    store(p, x);
  } else {
    for (int q = 0; q < vec<T>::parts; ++q) {
      char* at = reinterpret_cast<char*>(p) + q * sizeof(reg<T>);
#if CA_REGISTER >= 64
      if constexpr (sizeof(reg<T>) == 64) __builtin_ia32_movntdq512(reinterpret_cast<v8*>(at), (v8)x.r[q]);
#endif
#if CA_REGISTER >= 32
      if constexpr (sizeof(reg<T>) == 32) __builtin_ia32_movntdq256(reinterpret_cast<v4*>(at), (v4)x.r[q]);
#endif
      if constexpr (sizeof(reg<T>) == 16) __builtin_ia32_movntdq(reinterpret_cast<v2*>(at), (v2)x.r[q]);
    }
  }
}
CA_INLINE void stream_fence() { __builtin_ia32_sfence(); }

template <class T>
CA_INLINE vec<T> gather(const T* p, int64_t stride) {
  T values[lanes];
  for (int l = 0; l < lanes; ++l) values[l] = p[l * stride];
  return load(values);
}
template <class T>
CA_INLINE void scatter(T* p, int64_t stride, vec<T> x) {
  T values[lanes];
  store(values, x);
  for (int l = 0; l < lanes; ++l) p[l * stride] = values[l];
}
/// first + step * lane.
template <class T>
CA_INLINE vec<T> iota(T first, T step) {
  T values[lanes];
  for (int l = 0; l < lanes; ++l) values[l] = T(step * T(l));
  vec<T> o = load(values);
  for (int p = 0; p < vec<T>::parts; ++p) o.r[p] += first;
  return o;
}

CA_INLINE float widen_half(half x) {
  _Float16 value;
  __builtin_memcpy(&value, &x, 2);
  return value;
}
CA_INLINE half round_half(float x) {
  const _Float16 value = x;
  half o;
  __builtin_memcpy(&o, &value, 2);
  return o;
}
CA_INLINE float widen_bfloat16(bfloat16 x) {
  const uint32_t bits = uint32_t(x.bits) << 16;
  float o;
  __builtin_memcpy(&o, &bits, 4);
  return o;
}
CA_INLINE bfloat16 round_bfloat16(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return x != x ? bfloat16{0x7fc0} : bfloat16{uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

#if CA_REGISTER >= 64 && CA_LANES % 16 == 0
#define CA_HALVES 16
typedef short halves __attribute__((vector_size(32)));
CA_INLINE auto widen_halves(halves x) {
  return __builtin_ia32_vcvtph2ps512_mask(x, pack<float, 16>::type{}, uint16_t(-1), 4);
}
CA_INLINE halves round_halves(pack<float, 16>::type x) {
  return __builtin_ia32_vcvtps2ph512_mask(x, 0, halves{}, uint16_t(-1));
}
#elif defined(__F16C__) && CA_LANES % 8 == 0
#define CA_HALVES 8
typedef short halves __attribute__((vector_size(16)));
CA_INLINE auto widen_halves(halves x) { return __builtin_ia32_vcvtph2ps256(x); }
CA_INLINE halves round_halves(pack<float, 8>::type x) { return __builtin_ia32_vcvtps2ph256(x, 0); }
#else
#define CA_HALVES 1
struct halves {
  half value;
};
struct single {
  float value;
};
CA_INLINE single widen_halves(halves x) { return {widen_half(x.value)}; }
CA_INLINE halves round_halves(single x) { return {round_half(x.value)}; }
#endif
CA_INLINE vec<float> widen_small(vec<half> x) {
  vec<float> o;
  for (int q = 0; q < lanes / CA_HALVES; ++q) {
    halves from;
    __builtin_memcpy(&from, reinterpret_cast<const char*>(x.r) + q * sizeof from, sizeof from);
    const auto to = widen_halves(from);
    __builtin_memcpy(reinterpret_cast<char*>(o.r) + q * sizeof to, &to, sizeof to);
  }
  return o;
}
CA_INLINE vec<half> round_to(vec<float> x, half) {
  vec<half> o;
  for (int q = 0; q < lanes / CA_HALVES; ++q) {
    decltype(widen_halves(halves{})) from;
    __builtin_memcpy(&from, reinterpret_cast<const char*>(x.r) + q * sizeof from, sizeof from);
    const halves to = round_halves(from);
    __builtin_memcpy(reinterpret_cast<char*>(o.r) + q * sizeof to, &to, sizeof to);
  }
  return o;
}
CA_INLINE vec<float> widen_small(vec<bfloat16> x) {
  vec<uint32_t> bits;
  cast_lanes<uint32_t, uint16_t>(bits.r, x.r);
  vec<float> o;
  for (int p = 0; p < vec<float>::parts; ++p) o.r[p] = (reg<float>)(bits.r[p] << 16);
  return o;
}
CA_INLINE vec<bfloat16> round_to(vec<float> x, bfloat16) {
  vec<uint32_t> bits;
  for (int p = 0; p < vec<float>::parts; ++p) {
    const auto b = (reg<uint32_t>)x.r[p];
    const auto rounded = (b + 0x7fff + ((b >> 16) & 1)) >> 16;
    bits.r[p] = x.r[p] != x.r[p] ? reg<uint32_t>{} + 0x7fc0 : rounded;
  }
  vec<bfloat16> o;
  cast_lanes<uint16_t, uint32_t>(o.r, bits.r);
  return o;
}

template <class To, class From>
CA_INLINE To convert(From x) {
  if constexpr (same<To, From>)
    return x;
  else if constexpr (same<From, half>)
    return convert<To>(widen_half(x));
  else if constexpr (same<From, bfloat16>)
    return convert<To>(widen_bfloat16(x));
  else if constexpr (same<To, half>)
    return round_half(float(x));
  else if constexpr (same<To, bfloat16>)
    return round_bfloat16(float(x));
  else if constexpr (same<To, bool>)
    return x != From(0);
  // Through a wider integer, so that a negative float wraps in an unsigned type as it does in torch.
  else if constexpr (is_real<From> && !is_real<To>)
    return To(int64_t(x));
  else
    return To(x);
}
template <class To, class From>
CA_INLINE vec<To> convert(vec<From> x) {
  vec<To> o;
  if constexpr (same<To, From>) {
    return x;
  } else if constexpr (is_small<From>) {
    return convert<To>(widen_small(x));
  } else if constexpr (is_small<To>) {
    return round_to(convert<float>(x), To{});
  } else if constexpr (same<To, bool>) {
    wide_mask<From> m;
    for (int p = 0; p < m.parts; ++p) m.r[p] = x.r[p] != 0;
    return narrow<From>(m);
  } else if constexpr (same<From, bool>) {
    vec<int32_t> ones;
    for (int p = 0; p < ones.parts; ++p) ones.r[p] = x.r[p] & 1;
    return convert<To>(ones);
  } else if constexpr (is_real<From> && sizeof(To) < 4) {
    vec<int32_t> whole;
    cast_lanes<int32_t, From>(whole.r, x.r);
    cast_lanes<To, int32_t>(o.r, whole.r);
    return o;
  } else {
    cast_lanes<To, From>(o.r, x.r);
    return o;
  }
}

/// Every lane moved down by `step` places, the lowest to the top.
template <int step, class T>
CA_INLINE vec<T> rotate(vec<T> x) {
  constexpr int per = vec<T>::per, parts = vec<T>::parts;
  vec<T> o;
  if constexpr (step >= per) {
    for (int p = 0; p < parts; ++p) o.r[p] = x.r[(p + step / per) % parts];
  } else {
    typename wide_mask<T>::reg from;
    for (int l = 0; l < per; ++l) from[l] = (l + step) % per;
    for (int p = 0; p < parts; ++p) o.r[p] = __builtin_shuffle(x.r[p], from);
  }
  return o;
}
template <class T>
CA_INLINE T first_lane(vec<T> x) {
  if constexpr (same<T, bool>)
    return x.r[0][0] != 0;
  else if constexpr (is_small<T>)
    return T{x.r[0][0]};
  else
    return x.r[0][0];
}
/// The lanes of one vector joined by `op`, halves against halves.
template <int step = lanes / 2, class T, class Op>
CA_INLINE T horizontal(vec<T> x, Op op) {
  if constexpr (step == 0)
    return first_lane(x);
  else
    return horizontal<step / 2>(op(x, rotate<step>(x)), op);
}

}  // namespace ca

#include "cudaagent_host_math.h"
