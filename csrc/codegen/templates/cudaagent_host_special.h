// Rare map functions, in double, one lane at a time. f32 and the small floats round the double's result once.
#pragma once

#include "cudaagent_host.h"

namespace ca {
namespace special {

inline constexpr double pi = 3.14159265358979323846;

inline double lgamma(double x) { return __builtin_lgamma(x); }

/// digamma on [1, 2]: its zero, in two doubles so that the distance from it keeps every bit, times a polynomial in
/// x - 1.5 that was fitted to digamma(x) / (x - zero) at Chebyshev points, within 8e-17.
inline double digamma_1_to_2(double x) {
  constexpr double fit[] = {
      -0.00017312261802727394, 0.00025968482126430747, -0.00015148586836773365, 0.0002272331660987376,
      -0.0004821990530566789,  0.0007233266279287554,  -0.0010376374098418604,  0.0015566317474486838,
      -0.002345267632540769,   0.003519006401502276,   -0.005279964873257405,   0.007926944646403797,
      -0.011908218001568644,   0.0179072524394512,     -0.02697579675613825,    0.04076083381242074,
      -0.061922133273064534,   0.09498872445494122,    -0.14840492305390884,    0.2405424842407742,
      -0.4236274212814605,     0.951055876031833};
  const double off = (x - 0x1.762d86356be3fp+0) - 0x1.b86a722197829p-54;
  double slope = 0;
  for (const double term : fit) slope = slope * (x - 1.5) + term;
  return off * slope;
}

inline double log(double x) { return __builtin_log(x); }
inline long double log(long double x) { return __builtin_logl(x); }

/// By recurrence up to 20 or more, then the asymptotic series.
template <class Real>
inline Real digamma_series(Real x) {
  Real sum = 0;
  for (; x < 20; x += 1) sum -= 1 / x;
  // Bernoulli numbers B_2k / 2k.
  constexpr Real terms[] = {Real(1) / 12,  Real(-1) / 120,     Real(1) / 252, Real(-1) / 240,
                            Real(1) / 132, Real(-691) / 32760, Real(1) / 12};
  const Real inverse = 1 / (x * x);
  Real tail = 0;
  for (int k = 6; k >= 0; --k) tail = (tail + terms[k]) * inverse;
  return sum + log(x) - 1 / (2 * x) - tail;
}

inline double digamma(double x) {
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  if (x < 0) {
    if (x == __builtin_floor(x)) return __builtin_nan("");
    // The two terms cancel beside the zeros, one between any two integers: the wider type has digits to spare. The
    // tangent is of the distance to the nearest integer, which is exact, also where x itself is tiny.
    constexpr long double wide_pi = 3.14159265358979323846264338327950288L;
    return double(digamma_series(1 - (long double)(x)) - wide_pi / __builtin_tanl(wide_pi * (x - __builtin_rint(x))));
  }
  // On the way to [1, 2] no terms cancel.
  if (x < 1) return digamma_1_to_2(x + 1) - 1 / x;
  if (x >= 12) return digamma_series(x);
  double sum = 0;
  while (x > 2) sum += 1 / (x -= 1);
  return digamma_1_to_2(x) + sum;
}

/// Newton steps of third order (Halley) on erf, on erfc near one, where erf has lost its digits.
inline double erfinv(double y) {
  const double magnitude = __builtin_fabs(y);
  if (!(magnitude < 1)) return magnitude == 1 ? __builtin_copysign(__builtin_inf(), y) : __builtin_nan("");
  if (magnitude < 1e-9) return y * 0.88622692545275801365;
  const double rest = 1 - magnitude;
  // Winitzki's closed form is within 2e-3.
  const double a = 0.147, l = __builtin_log(rest * (1 + magnitude)), m = 2 / (pi * a) + l / 2;
  double x = __builtin_sqrt(__builtin_sqrt(m * m - l / a) - m);
  for (int step = 0; step < 4; ++step) {
    const double off = magnitude < 0.5 ? __builtin_erf(x) - magnitude : rest - __builtin_erfc(x);
    const double newton = off * (0.88622692545275801365 * __builtin_exp(x * x));
    x -= newton / (1 + x * newton);
  }
  return __builtin_copysign(x, y);
}

/// Bessel functions of the first kind with imaginary argument, orders 0 and 1: the power series, whose terms are all
/// positive, then Hankel's asymptotic series.
inline double bessel_i(int order, double x) {
  const double magnitude = __builtin_fabs(x);
  const double sign = order == 1 && __builtin_signbit(x) ? -1.0 : 1.0;
  if (x != x) return x;
  if (magnitude <= 30) {
    // Tens of terms: the wider type keeps their rounding out of the sum.
    const long double quarter = (long double)(magnitude)*magnitude / 4;
    long double term = order == 0 ? 1.0 : magnitude / 2, sum = term;
    for (int k = 1; k < 200 && term > sum * 1e-19; ++k) {
      term *= quarter / ((long double)(k) * (k + order));
      sum += term;
    }
    return sign * double(sum);
  }
  if (magnitude > 720) return sign * __builtin_inf();
  const double mu = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 60; ++k) {
    const double odd = 2 * k - 1, next = term * -(mu - odd * odd) / (k * 8 * magnitude);
    if (__builtin_fabs(next) >= __builtin_fabs(term) || __builtin_fabs(next) < 1e-18) break;
    term = next;
    sum += term;
  }
  // In two factors, because e^x overflows before the quotient does.
  const double root = __builtin_exp(magnitude / 2);
  return sign * (root * (sum / __builtin_sqrt(2 * pi * magnitude))) * root;
}
inline double i0(double x) { return bessel_i(0, x); }
inline double i1(double x) { return bessel_i(1, x); }

}  // namespace special

#define CA_SPECIAL(name)                                  \
  template <class T>                                      \
  CA_INLINE T name(T x) {                                 \
    return convert<T>(special::name(convert<double>(x))); \
  }                                                       \
  CA_LANEWISE(name)
CA_SPECIAL(lgamma)
CA_SPECIAL(digamma)
CA_SPECIAL(erfinv)
CA_SPECIAL(i0)
CA_SPECIAL(i1)

}  // namespace ca
