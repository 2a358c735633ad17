#include "support/scalar_ops.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "base/element.h"

namespace cudaagent::testing {

namespace {

using Unary = std::function<double(double)>;
using Binary = std::function<double(double, double)>;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

double sign(double x) { return std::isnan(x) ? x : (x > 0) - (x < 0); }

// The derivative of log(gamma), by recurrence up to where its asymptotic series holds.
double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  if (x < 0 && x == std::floor(x)) return nan_value;
  if (x < 0) return digamma(1 - x) - M_PI / std::tan(M_PI * x);
  double shift = 0;
  for (; x < 10; x += 1) shift -= 1 / x;
  const double r = 1 / (x * x);
  return shift + std::log(x) - 0.5 / x - r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r / 240)));
}

double erfinv(double x) {
  if (x <= -1 || x >= 1) {
    if (std::abs(x) == 1) return std::copysign(std::numeric_limits<double>::infinity(), x);
    return nan_value;
  }
  double y = 0;
  for (int i = 0; i < 200; ++i) y -= std::clamp((std::erf(y) - x) * std::sqrt(M_PI) / 2 * std::exp(y * y), -0.5, 0.5);
  return y;
}

const std::map<std::string, Unary>& float_unary() {
  static const std::map<std::string, Unary> table = {
      {"exp", [](double x) { return std::exp(x); }},
      {"exp2", [](double x) { return std::exp2(x); }},
      {"expm1", [](double x) { return std::expm1(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"log2", [](double x) { return std::log2(x); }},
      {"log10", [](double x) { return std::log10(x); }},
      {"log1p", [](double x) { return std::log1p(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"reciprocal", [](double x) { return 1 / x; }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"tan", [](double x) { return std::tan(x); }},
      {"asin", [](double x) { return std::asin(x); }},
      {"acos", [](double x) { return std::acos(x); }},
      {"atan", [](double x) { return std::atan(x); }},
      {"sinh", [](double x) { return std::sinh(x); }},
      {"cosh", [](double x) { return std::cosh(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"asinh", [](double x) { return std::asinh(x); }},
      {"acosh", [](double x) { return std::acosh(x); }},
      {"atanh", [](double x) { return std::atanh(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"erfc", [](double x) { return std::erfc(x); }},
      {"erfinv", erfinv},
      {"lgamma", [](double x) { return std::lgamma(x); }},
      {"digamma", digamma},
      {"i0", [](double x) { return std::cyl_bessel_i(0, std::abs(x)); }},
      {"i1", [](double x) { return std::copysign(std::cyl_bessel_i(1, std::abs(x)), x); }},
  };
  return table;
}

const std::map<std::string, Unary>& any_unary() {
  static const std::map<std::string, Unary> table = {
      {"neg", [](double x) { return -x; }},
      {"abs", [](double x) { return std::abs(x); }},
      {"sign", sign},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"round", [](double x) { return std::nearbyint(x); }},
      {"trunc", [](double x) { return std::trunc(x); }},
      {"signbit", [](double x) { return std::signbit(x) ? 1.0 : 0.0; }},
      {"isnan", [](double x) { return std::isnan(x) ? 1.0 : 0.0; }},
      {"isinf", [](double x) { return std::isinf(x) ? 1.0 : 0.0; }},
  };
  return table;
}

double nan_wins(double a, double b, bool want_max) {
  if (std::isnan(a) || std::isnan(b)) return nan_value;
  return want_max ? std::max(a, b) : std::min(a, b);
}

double python_remainder(double a, double b) {
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

double floor_divide(double a, double b) {
  if (b == 0) return a / b;
  return std::round((a - python_remainder(a, b)) / b);
}

const std::map<std::string, Binary>& binary() {
  static const std::map<std::string, Binary> table = {
      {"add", [](double a, double b) { return a + b; }},
      {"sub", [](double a, double b) { return a - b; }},
      {"mul", [](double a, double b) { return a * b; }},
      {"div", [](double a, double b) { return a / b; }},
      {"div_trunc", [](double a, double b) { return std::trunc(a / b); }},
      {"div_floor", floor_divide},
      {"fmod", [](double a, double b) { return std::fmod(a, b); }},
      {"remainder", python_remainder},
      {"pow", [](double a, double b) { return std::pow(a, b); }},
      {"atan2", [](double a, double b) { return std::atan2(a, b); }},
      {"hypot", [](double a, double b) { return std::hypot(a, b); }},
      {"copysign", [](double a, double b) { return std::copysign(a, b); }},
      {"nextafter", [](double a, double b) { return std::nextafter(a, b); }},
      {"max", [](double a, double b) { return nan_wins(a, b, true); }},
      {"min", [](double a, double b) { return nan_wins(a, b, false); }},
      {"fmax", [](double a, double b) { return std::fmax(a, b); }},
      {"fmin", [](double a, double b) { return std::fmin(a, b); }},
      {"eq", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"ne", [](double a, double b) { return a != b ? 1.0 : 0.0; }},
      {"lt", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {"le", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {"gt", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
      {"ge", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
  };
  return table;
}

double bitwise(const std::string& fn, std::int64_t a, std::int64_t b) {
  if (fn == "and") return static_cast<double>(a & b);
  if (fn == "or") return static_cast<double>(a | b);
  if (fn == "xor") return static_cast<double>(a ^ b);
  if (fn == "shl") return static_cast<double>(a << b);
  if (fn == "shr") return static_cast<double>(a >> b);
  throw InternalError("scalar_ops: no function " + fn);
}

double compute(const std::string& fn, DType dtype, const std::vector<double>& x) {
  if (fn == "where") return x[0] != 0 ? x[1] : x[2];
  if (fn == "fma") return std::fma(x[0], x[1], x[2]);
  if (fn == "not") return dtype == DType::b8 ? (x[0] == 0 ? 1.0 : 0.0) : -x[0] - 1;
  if (x.size() == 1) {
    const auto found = any_unary().find(fn);
    return found != any_unary().end() ? found->second(x[0]) : float_unary().at(fn)(x[0]);
  }
  const auto found = binary().find(fn);
  if (found != binary().end()) return found->second(x[0], x[1]);
  return bitwise(fn, static_cast<std::int64_t>(x[0]), static_cast<std::int64_t>(x[1]));
}

double initial(ir::ReduceKind kind) {
  switch (kind) {
    case ir::ReduceKind::prod:
    case ir::ReduceKind::all:
      return 1;
    case ir::ReduceKind::max:
    case ir::ReduceKind::argmax:
      return -std::numeric_limits<double>::infinity();
    case ir::ReduceKind::min:
    case ir::ReduceKind::argmin:
      return std::numeric_limits<double>::infinity();
    default:
      return 0;
  }
}

}  // namespace

double convert_element(double value, DType dtype) {
  if (dtype == DType::b8) return value != 0 ? 1 : 0;
  if (is_float(dtype)) return value;
  const double truncated = std::trunc(value);
  if (!(std::abs(truncated) < 9.2e18)) return 0;
  const auto wide = static_cast<std::int64_t>(truncated);
  return static_cast<double>(load_integer(&wide, dtype));  // its low bytes
}

double constant_element(const Arg& constant, DType dtype) {
  if (constant.is<bool>()) return convert_element(constant.as<bool>() ? 1 : 0, dtype);
  if (constant.is<std::int64_t>()) return convert_element(static_cast<double>(constant.as<std::int64_t>()), dtype);
  return convert_element(constant.as<double>(), dtype);
}

double apply_map(const std::string& fn, DType dtype, const std::vector<double>& operands) {
  const ir::MapFn* known = ir::find_map_fn(fn);
  if (!known) throw InternalError("scalar_ops: no function " + fn);
  return convert_element(compute(fn, dtype, operands), known->predicate ? DType::b8 : dtype);
}

Accumulator::Accumulator(ir::ReduceKind kind, DType dtype) : kind_(kind), dtype_(dtype), value_(initial(kind)) {}

void Accumulator::take(double value) {
  switch (kind_) {
    case ir::ReduceKind::sum:
      value_ = convert_element(value_ + value, dtype_);
      break;
    case ir::ReduceKind::prod:
      value_ = convert_element(value_ * value, dtype_);
      break;
    case ir::ReduceKind::max:
      value_ = nan_wins(value_, value, true);
      break;
    case ir::ReduceKind::min:
      value_ = nan_wins(value_, value, false);
      break;
    case ir::ReduceKind::any:
      value_ = value_ != 0 || value != 0;
      break;
    case ir::ReduceKind::all:
      value_ = value_ != 0 && value != 0;
      break;
    case ir::ReduceKind::argmax:
    case ir::ReduceKind::argmin: {
      const bool better = kind_ == ir::ReduceKind::argmax ? value > value_ : value < value_;
      if (count_ == 0 || (!std::isnan(value_) && (better || std::isnan(value)))) {
        value_ = value;
        index_ = count_;
      }
      break;
    }
  }
  count_ += 1;
}

double Accumulator::result() const {
  return kind_ == ir::ReduceKind::argmax || kind_ == ir::ReduceKind::argmin ? index_ : value_;
}

}  // namespace cudaagent::testing
