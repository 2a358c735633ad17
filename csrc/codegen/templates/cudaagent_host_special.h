// Rare map functions, in double, one lane at a time. f32 and the small floats round the double's result once.
#pragma once

#include "cudaagent_host.h"

namespace ca {
namespace special {

inline constexpr double pi = 3.14159265358979323846;

inline double lgamma(double x) { return __builtin_lgamma(x); }

/// Recurrence up to 12, then the asymptotic series; reflection below zero.
inline double digamma(double x) {
  if (x == 0) return __builtin_copysign(__builtin_inf(), -x);
  if (x < 0) {
    if (x == __builtin_floor(x)) return __builtin_nan("");
    // Of the distance to the nearest integer, which is exact, also where x itself is tiny.
    return digamma(1 - x) - pi / __builtin_tan(pi * (x - __builtin_rint(x)));
  }
  double sum = 0;
  for (; x < 12; x += 1) sum -= 1 / x;
  if (x > 1e17) return __builtin_log(x);
  // Bernoulli numbers B_2k / 2k.
  constexpr double terms[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
  const double inverse = 1 / (x * x);
  double tail = 0;
  for (int k = 6; k >= 0; --k) tail = (tail + terms[k]) * inverse;
  return sum + __builtin_log(x) - 0.5 / x - tail;
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
