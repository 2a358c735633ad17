// Register-wide mathematics: libmvec under one name per function for every register width, fused multiply-add, and the
// f32 functions networks are made of (exp, log, erf, tanh) inline: a call would spill every register around it, and
// libmvec's log and erf are 3.7 and 3.4 ulp off. Coefficients are minimax fits in the relative error of the result.
#pragma once

#if !defined(__FAST_MATH__) && defined(__GLIBC__)
#define CA_GLIBC (__GLIBC__ * 100 + __GLIBC_MINOR__)
#else
#define CA_GLIBC 0
#endif

namespace ca {

typedef float f4 __attribute__((vector_size(16)));
typedef double d2 __attribute__((vector_size(16)));
typedef float f8 __attribute__((vector_size(32)));
typedef double d4 __attribute__((vector_size(32)));
typedef float f16 __attribute__((vector_size(64)));
typedef double d8 __attribute__((vector_size(64)));

template <class R>
inline constexpr int register_lanes = int(sizeof(R) / sizeof(R{}[0]));

#define CA_MVEC_1(V, isa, n, suffix, name)                                  \
  extern "C" V _ZGV##isa##N##n##v_##name##suffix(V) __attribute__((const)); \
  CA_INLINE V mv_##name(V x) { return _ZGV##isa##N##n##v_##name##suffix(x); }
#define CA_MVEC_2(V, isa, n, suffix, name)                                      \
  extern "C" V _ZGV##isa##N##n##vv_##name##suffix(V, V) __attribute__((const)); \
  CA_INLINE V mv_##name(V x, V y) { return _ZGV##isa##N##n##vv_##name##suffix(x, y); }
#define CA_MVEC_128(K, name) K(f4, b, 4, f, name) K(d2, b, 2, , name)
#if CA_REGISTER >= 32
#define CA_MVEC_256(K, name) K(f8, d, 8, f, name) K(d4, d, 4, , name)
#else
#define CA_MVEC_256(K, name)
#endif
#if CA_REGISTER >= 64
#define CA_MVEC_512(K, name) K(f16, e, 16, f, name) K(d8, e, 8, , name)
#else
#define CA_MVEC_512(K, name)
#endif
/// Registers that no routine takes go lane by lane through the scalar function of the same name.
#define CA_LANES_1(name)                          \
  template <class R>                              \
  CA_INLINE R mv_##name(R x) {                    \
    for (int l = 0; l < register_lanes<R>; ++l) { \
      if constexpr (sizeof(x[0]) == 4)            \
        x[l] = __builtin_##name##f(x[l]);         \
      else                                        \
        x[l] = __builtin_##name(x[l]);            \
    }                                             \
    return x;                                     \
  }
#define CA_LANES_2(name)                          \
  template <class R>                              \
  CA_INLINE R mv_##name(R x, R y) {               \
    for (int l = 0; l < register_lanes<R>; ++l) { \
      if constexpr (sizeof(x[0]) == 4)            \
        x[l] = __builtin_##name##f(x[l], y[l]);   \
      else                                        \
        x[l] = __builtin_##name(x[l], y[l]);      \
    }                                             \
    return x;                                     \
  }
#define CA_ROUTINE_1(name) \
  CA_LANES_1(name) CA_MVEC_128(CA_MVEC_1, name) CA_MVEC_256(CA_MVEC_1, name) CA_MVEC_512(CA_MVEC_1, name)
#define CA_ROUTINE_2(name) \
  CA_LANES_2(name) CA_MVEC_128(CA_MVEC_2, name) CA_MVEC_256(CA_MVEC_2, name) CA_MVEC_512(CA_MVEC_2, name)
#if CA_GLIBC >= 235
#define CA_ROUTINE_235_1(name) CA_ROUTINE_1(name)
#define CA_ROUTINE_235_2(name) CA_ROUTINE_2(name)
#else
#define CA_ROUTINE_235_1(name) CA_LANES_1(name)
#define CA_ROUTINE_235_2(name) CA_LANES_2(name)
#endif

CA_ROUTINE_1(exp)
CA_ROUTINE_1(log)
CA_ROUTINE_1(sin)
CA_ROUTINE_1(cos)
CA_ROUTINE_2(pow)
CA_ROUTINE_235_1(exp2)
CA_ROUTINE_235_1(expm1)
CA_ROUTINE_235_1(log2)
CA_ROUTINE_235_1(log10)
CA_ROUTINE_235_1(log1p)
CA_ROUTINE_235_1(tan)
CA_ROUTINE_235_1(asin)
CA_ROUTINE_235_1(acos)
CA_ROUTINE_235_1(atan)
CA_ROUTINE_235_1(sinh)
CA_ROUTINE_235_1(cosh)
CA_ROUTINE_235_1(tanh)
CA_ROUTINE_235_1(asinh)
CA_ROUTINE_235_1(acosh)
CA_ROUTINE_235_1(atanh)
CA_ROUTINE_235_1(erf)
CA_ROUTINE_235_1(erfc)
CA_ROUTINE_235_2(atan2)
CA_ROUTINE_235_2(hypot)

template <class R>
CA_INLINE R fused_lanes(R a, R b, R c) {
  for (int l = 0; l < register_lanes<R>; ++l) {
    if constexpr (sizeof(a[0]) == 4)
      a[l] = __builtin_fmaf(a[l], b[l], c[l]);
    else
      a[l] = __builtin_fma(a[l], b[l], c[l]);
  }
  return a;
}
#if defined(__FMA__)
CA_INLINE f4 fused_lanes(f4 a, f4 b, f4 c) { return __builtin_ia32_vfmaddps(a, b, c); }
CA_INLINE d2 fused_lanes(d2 a, d2 b, d2 c) { return __builtin_ia32_vfmaddpd(a, b, c); }
CA_INLINE f8 fused_lanes(f8 a, f8 b, f8 c) { return __builtin_ia32_vfmaddps256(a, b, c); }
CA_INLINE d4 fused_lanes(d4 a, d4 b, d4 c) { return __builtin_ia32_vfmaddpd256(a, b, c); }
#endif
#if CA_REGISTER >= 64
CA_INLINE f16 fused_lanes(f16 a, f16 b, f16 c) { return __builtin_ia32_vfmaddps512_mask(a, b, c, uint16_t(-1), 4); }
CA_INLINE d8 fused_lanes(d8 a, d8 b, d8 c) { return __builtin_ia32_vfmaddpd512_mask(a, b, c, uint8_t(-1), 4); }
#endif

/// Horner's rule, highest coefficient first.
template <class R, class... Coefficients>
CA_INLINE R polynomial(R x, float highest, Coefficients... rest) {
  R value = highest - R{};
  ((value = fused_lanes(value, x, rest - R{})), ...);
  return value;
}

/// x * 2^n for n in [-150, 128], in two steps so that neither factor leaves the normal numbers.
template <class R, class I>
CA_INLINE R scale_lanes(R x, I n) {
  const I low = n >> 1, high = n - low;
  return x * (R)((low + 127) << 23) * (R)((high + 127) << 23);
}

/// e^x within 1 ulp: x = n ln 2 + r, a minimax polynomial on |r| <= ln 2 / 2.
template <class R>
CA_INLINE R exp_f32(R x) {
  typedef int32_t I __attribute__((vector_size(sizeof(R))));
  const auto all = [](float value) { return value - R{}; };
  // Comparisons are false on NaN, which so passes through.
  x = x > 89.0f ? all(89.0f) : x;
  x = x < -104.0f ? all(-104.0f) : x;
  const R shifter = all(0x1.8p23f);  // Adding it leaves the rounded integer in the low bits.
  const R shifted = fused_lanes(x, all(0x1.715476p+0f), shifter);
  const R n = shifted - shifter;
  R r = fused_lanes(n, all(-0x1.62e430p-1f), x);
  r = fused_lanes(n, all(0x1.05c610p-29f), r);
  const R p = polynomial(r, 0x1.6a23f0p-10f, 0x1.123a0ap-7f, 0x1.5558f2p-5f, 0x1.555492p-3f, 0x1.fffffcp-2f);
  return scale_lanes(fused_lanes(p * r, r, r) + 1.0f, (I)shifted - (I)shifter);
}

/// log x within 1 ulp: x = 2^e (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).
template <class R>
CA_INLINE R log_f32(R x) {
  typedef int32_t I __attribute__((vector_size(sizeof(R))));
  const auto all = [](float value) { return value - R{}; };
  const I tiny = x < 0x1p-126f;
  const R scaled = tiny ? x * 0x1p23f : x;
  const I from = (I)scaled - 0x3f3504f3, exponent = from >> 23;
  const R f = (R)((I)scaled - (exponent << 23)) - 1.0f;
  const R e = __builtin_convertvector(exponent - (tiny & 23), R);
  const R p = polynomial(f, -0x1.38c1a6p-4f, 0x1.056498p-3f, -0x1.0d875ap-3f, 0x1.22d90ap-3f, -0x1.5471f6p-3f,
                         0x1.99a012p-3f, -0x1.000228p-2f, 0x1.555554p-2f);
  const R square = f * f;
  R low = fused_lanes(e, all(-0x1.05c610p-29f), p * square * f);
  low = fused_lanes(square, all(-0.5f), low);
  R result = fused_lanes(e, all(0x1.62e430p-1f), f + low);
  result = x == 0.0f ? all(-__builtin_inff()) : result;
  result = x < 0.0f ? all(__builtin_nanf("")) : result;
  // Infinity and NaN are their own logarithms.
  return x < __builtin_inff() ? result : x;
}

template <class R>
CA_INLINE R magnitude_f32(R x) {
  typedef int32_t I __attribute__((vector_size(sizeof(R))));
  return (R)((I)x & 0x7fffffff);
}
template <class R>
CA_INLINE R signed_f32(R magnitude, R sign) {
  typedef int32_t I __attribute__((vector_size(sizeof(R))));
  return (R)(((I)sign & (I{} + INT32_MIN)) | (I)magnitude);
}

/// erf x within 2 ulp: an odd polynomial near zero, beyond it 1 - e^-g with a polynomial g = -log erfc.
template <class R>
CA_INLINE R erf_f32(R x) {
  const R t = magnitude_f32(x), s = x * x;
  const R small = fused_lanes(x,
                              polynomial(s, 0x1.5353bep-14f, -0x1.a74962p-11f, 0x1.546ff6p-8f, -0x1.b80536p-6f,
                                         0x1.ce2d96p-4f, -0x1.812740p-2f, 0x1.06eba8p-3f),
                              x);
  const R far = t > 4.0f ? 4.0f - R{} : t;
  const R g = polynomial(far, -0x1.9ae904p-13f, 0x1.8ee170p-9f, -0x1.6c2a76p-6f, 0x1.a9b42ep-4f, 0x1.463cc0p-1f,
                         0x1.20af5ap+0f, 0x1.9a5c72p-13f);
  return t < 0.96f ? small : signed_f32(1.0f - exp_f32(-g), x);
}

/// tanh x within 2 ulp: an odd polynomial near zero, beyond it through e^2x.
template <class R>
CA_INLINE R tanh_f32(R x) {
  const R t = magnitude_f32(x), s = x * x;
  const R small = fused_lanes(
      x * s, polynomial(s, -0x1.74d660p-8f, 0x1.51ecfcp-6f, -0x1.b833e4p-5f, 0x1.1106eap-3f, -0x1.555532p-2f), x);
  return t < 0.62f ? small : signed_f32(1.0f - 2.0f / (exp_f32(t + t) + 1.0f), x);
}

/// The inline routine for f32, libmvec's for f64.
#define CA_INLINE_F32(name)          \
  template <class R>                 \
  CA_INLINE R fast_##name(R x) {     \
    if constexpr (sizeof(x[0]) == 4) \
      return name##_f32(x);          \
    else                             \
      return mv_##name(x);           \
  }
CA_INLINE_F32(exp)
CA_INLINE_F32(log)
CA_INLINE_F32(erf)
CA_INLINE_F32(tanh)

}  // namespace ca
