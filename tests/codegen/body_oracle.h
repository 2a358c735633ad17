// A body evaluated one instruction at a time over its whole iteration space: what every template must agree with.
// Floats are computed in long double and rounded to the instruction's dtype; integers in 64 bits, wrapped.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/element.h"
#include "schedule/schedule.h"

namespace cudaagent::testing {

struct Number {
  long double f = 0;   ///< of float dtypes
  std::int64_t i = 0;  ///< of integers and bool
};

inline Number round_to(Number x, DType dtype) {
  switch (dtype) {
    case DType::f64:
      x.f = static_cast<double>(x.f);
      break;
    case DType::f32:
      x.f = static_cast<float>(x.f);
      break;
    case DType::f16:
    case DType::bf16: {
      char bytes[8];
      store_element(bytes, dtype, static_cast<double>(x.f));
      x.f = load_element(bytes, dtype);
      break;
    }
    case DType::b8:
      x.i = x.i != 0;
      break;
    default:
      if (is_integral(dtype)) x.i = load_integer(&x.i, dtype);  // its low bytes
  }
  return x;
}

inline Number read(const void* data, std::int64_t at, DType dtype) {
  const auto* place = static_cast<const char*>(data) + at * dtype_size(dtype);
  if (is_float(dtype)) return {load_element(place, dtype), 0};
  return {0, load_integer(place, dtype)};
}

inline void write(void* data, std::int64_t at, DType dtype, Number x) {
  auto* place = static_cast<char*>(data) + at * dtype_size(dtype);
  if (is_float(dtype))
    store_element(place, dtype, static_cast<double>(x.f));
  else
    std::memcpy(place, &x.i, static_cast<std::size_t>(dtype_size(dtype)));
}

inline Number convert(Number x, DType from, DType to) {
  if (is_float(from) && is_float(to)) {
    // Doubles reach the small floats through f32, as in torch.
    if (dtype_size(to) == 2) x.f = static_cast<float>(x.f);
    return round_to(x, to);
  }
  if (is_float(from)) {
    if (to == DType::b8) return {0, x.f != 0};
    return round_to({0, static_cast<std::int64_t>(x.f)}, to);
  }
  if (is_float(to)) {
    x.f = static_cast<long double>(x.i);
    if (dtype_size(to) == 2) x.f = static_cast<float>(x.f);
  }
  return round_to(x, to);
}

inline std::int64_t integer_map(const std::string& fn, DType dtype, const Number* x) {
  const std::int64_t a = x[0].i, b = x[1].i;
  const auto wrap = [](std::uint64_t v) { return static_cast<std::int64_t>(v); };
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  const std::int64_t bits = dtype_size(dtype) * 8;
  if (fn == "neg") return wrap(0 - ua);
  if (fn == "abs") return a < 0 ? wrap(0 - ua) : a;
  if (fn == "sign") return (a > 0) - (a < 0);
  if (fn == "floor" || fn == "ceil" || fn == "round" || fn == "trunc") return a;
  if (fn == "signbit") return a < 0;
  if (fn == "not") return dtype == DType::b8 ? !a : ~a;
  if (fn == "add") return wrap(ua + ub);
  if (fn == "sub") return wrap(ua - ub);
  if (fn == "mul") return wrap(ua * ub);
  const std::int64_t quotient = b == 0 ? 0 : b == -1 ? wrap(0 - ua) : a / b;
  const std::int64_t left = wrap(ua - static_cast<std::uint64_t>(quotient) * ub);
  const bool opposite = left != 0 && (left < 0) != (b < 0);
  if (fn == "div_trunc") return quotient;
  if (fn == "div_floor") return opposite ? quotient - 1 : quotient;
  if (fn == "fmod") return left;
  if (fn == "remainder") return opposite ? left + b : left;
  if (fn == "pow") {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    std::uint64_t result = 1;
    for (std::int64_t k = 0; k < b; ++k) result *= ua;
    return wrap(result);
  }
  if (fn == "max" || fn == "fmax") return std::max(a, b);
  if (fn == "min" || fn == "fmin") return std::min(a, b);
  if (fn == "eq") return a == b;
  if (fn == "ne") return a != b;
  if (fn == "lt") return a < b;
  if (fn == "le") return a <= b;
  if (fn == "gt") return a > b;
  if (fn == "ge") return a >= b;
  if (fn == "and") return a & b;
  if (fn == "or") return a | b;
  if (fn == "xor") return a ^ b;
  if (fn == "shl") return b < 0 || b >= bits ? 0 : wrap(ua << b);
  if (fn == "shr") return a >> (b < 0 || b >= bits ? 63 : b);
  throw std::logic_error("no reference for integer " + fn);
}

/// Beside the positive zero, where the recurrence below cancels: digamma(x) - digamma(zero) is the sum over k of
/// (x - zero) / ((k + zero) (k + x)), here to `terms` and then by Euler and Maclaurin.
inline long double digamma_beside_zero(long double x) {
  const long double zero = 0x1.762d86356be3fp+0L, below = 0x1.b86a722197829p-54L, off = x - zero - below;
  constexpr int terms = 2000;
  const auto term = [&](int k) { return 1 / ((k + zero + below) * (k + x)); };
  const long double last = term(terms), n = terms;
  const long double slope = -last * (1 / (n + zero) + 1 / (n + x));
  const long double rest = off == 0 ? 1 / (n + x) : std::log1p(off / (n + zero)) / off;
  long double sum = rest + last / 2 - slope / 12;
  for (int k = terms; k-- > 0;) sum += term(k);
  return off * sum;
}

inline long double digamma_reference(long double x) {
  if (x == 0) return std::copysign(std::numeric_limits<long double>::infinity(), -x);
  if (x < 0) {
    if (x == std::floor(x)) return std::nanl("");
    const long double pi = 3.14159265358979323846264338327950288L;
    return digamma_reference(1 - x) - pi / std::tan(pi * (x - std::rint(x)));
  }
  if (std::fabs(x - 1.46L) < 0.3L) return digamma_beside_zero(x);
  long double sum = 0;
  while (x < 40) sum -= 1 / x++;
  const long double i = 1 / (x * x);
  return sum + std::log(x) - 0.5L / x - i / 12 + i * i / 120 - i * i * i / 252 + i * i * i * i / 240;
}

inline long double erfinv_reference(long double y) {
  if (std::isnan(y) || std::fabs(y) > 1) return std::nanl("");
  if (std::fabs(y) == 1) return std::copysign(std::numeric_limits<long double>::infinity(), y);
  if (y < 0) return -erfinv_reference(-y);
  if (y < 1e-6L) return y * 0.886226925452758013649L * (1 + y * y * 0.2617993877991494365L);
  long double low = 0, high = 7;
  for (int k = 0; k < 200; ++k) {
    const long double middle = (low + high) / 2;
    // Near one, through erfc, which keeps its digits there.
    const bool below = y > 0.5L ? std::erfc(middle) > 1 - y : std::erf(middle) < y;
    (below ? low : high) = middle;
  }
  return (low + high) / 2;
}

inline long double bessel_reference(long double x, int order) {
  long double sum = 0, term = order == 0 ? 1 : x / 2;
  for (int k = 1; k < 2000; ++k) {
    sum += term;
    term *= x * x / 4 / (static_cast<long double>(k) * (k + order));
  }
  return sum;
}

inline long double float_map(const std::string& fn, DType dtype, const Number* x) {
  const long double a = x[0].f, b = x[1].f, c = x[2].f;
  if (fn == "neg") return -a;
  if (fn == "abs") return std::fabs(a);
  if (fn == "sign") return std::isnan(a) ? 0.0L : static_cast<long double>((a > 0) - (a < 0));
  if (fn == "exp") return std::exp(a);
  if (fn == "exp2") return std::exp2(a);
  if (fn == "expm1") return std::expm1(a);
  if (fn == "log") return std::log(a);
  if (fn == "log2") return std::log2(a);
  if (fn == "log10") return std::log10(a);
  if (fn == "log1p") return std::log1p(a);
  if (fn == "sqrt") return std::sqrt(a);
  if (fn == "rsqrt") return 1 / std::sqrt(a);
  if (fn == "reciprocal") return 1 / a;
  if (fn == "sigmoid") return 1 / (1 + std::exp(-a));
  if (fn == "sin") return std::sin(a);
  if (fn == "cos") return std::cos(a);
  if (fn == "tan") return std::tan(a);
  if (fn == "asin") return std::asin(a);
  if (fn == "acos") return std::acos(a);
  if (fn == "atan") return std::atan(a);
  if (fn == "sinh") return std::sinh(a);
  if (fn == "cosh") return std::cosh(a);
  if (fn == "tanh") return std::tanh(a);
  if (fn == "asinh") return std::asinh(a);
  if (fn == "acosh") return std::acosh(a);
  if (fn == "atanh") return std::atanh(a);
  if (fn == "erf") return std::erf(a);
  if (fn == "erfc") return std::erfc(a);
  if (fn == "erfinv") return erfinv_reference(a);
  if (fn == "lgamma") return std::lgamma(a);
  if (fn == "digamma") return digamma_reference(a);
  if (fn == "i0") return bessel_reference(a, 0);
  if (fn == "i1") return bessel_reference(a, 1);
  if (fn == "floor") return std::floor(a);
  if (fn == "ceil") return std::ceil(a);
  if (fn == "round") return std::nearbyint(a);
  if (fn == "trunc") return std::trunc(a);
  if (fn == "add") return a + b;
  if (fn == "sub") return a - b;
  if (fn == "mul") return a * b;
  if (fn == "div") return a / b;
  // The quotient is rounded before it is cut, as in torch.
  if (fn == "div_trunc") return std::trunc(round_to({a / b, 0}, dtype_size(dtype) == 2 ? DType::f32 : dtype).f);
  if (fn == "fmod") return std::fmod(a, b);
  if (fn == "remainder" || fn == "div_floor") {
    long double left = std::fmod(a, b);
    const bool opposite = left != 0 && (left < 0) != (b < 0);
    if (fn == "remainder") return opposite ? left + b : left;
    if (b == 0) return a / b;
    long double whole = (a - left) / b - (opposite ? 1 : 0);
    return whole == 0 ? std::copysign(0.0L, a / b) : std::nearbyint(whole);
  }
  if (fn == "pow") return std::pow(a, b);
  if (fn == "atan2") return std::atan2(a, b);
  if (fn == "hypot") return std::hypot(a, b);
  if (fn == "copysign") return std::copysign(a, b);
  if (fn == "max") return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
  if (fn == "min") return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b);
  if (fn == "fmax") return std::fmax(a, b);
  if (fn == "fmin") return std::fmin(a, b);
  if (fn == "fma") return a * b + c;
  if (fn == "nextafter") {
    if (dtype == DType::f32) return std::nextafter(static_cast<float>(a), static_cast<float>(b));
    if (dtype == DType::f64) return std::nextafter(static_cast<double>(a), static_cast<double>(b));
    if (std::isnan(a) || std::isnan(b)) return std::nanl("");
    if (a == b) return b;
    std::int16_t bits = 0;
    store_element(&bits, dtype, static_cast<double>(a));
    if (a == 0)
      bits = static_cast<std::int16_t>(b < 0 ? 0x8001 : 1);
    else
      bits = static_cast<std::int16_t>(bits + ((a < b) == (a > 0) ? 1 : -1));
    return load_element(&bits, dtype);
  }
  throw std::logic_error("no reference for " + fn);
}

inline bool float_predicate(const std::string& fn, long double a, long double b) {
  if (fn == "signbit") return std::signbit(a);
  if (fn == "isnan") return std::isnan(a);
  if (fn == "isinf") return std::isinf(a);
  if (fn == "eq") return a == b;
  if (fn == "ne") return a != b;
  if (fn == "lt") return a < b;
  if (fn == "le") return a <= b;
  if (fn == "gt") return a > b;
  if (fn == "ge") return a >= b;
  throw std::logic_error("no reference for " + fn);
}

/// `operands` is the dtype of the first operand that is not the condition of a where.
inline Number map_reference(const std::string& fn, DType operands, DType result, const Number* x) {
  if (fn == "convert") return convert(x[0], operands, result);
  if (fn == "where") return x[0].i ? x[1] : x[2];
  if (!is_float(operands)) return round_to({0, integer_map(fn, operands, x)}, result);
  if (result == DType::b8) return {0, float_predicate(fn, x[0].f, x[1].f)};
  return round_to({float_map(fn, operands, x), 0}, result);
}

class Oracle {
 public:
  Oracle(const schedule::Body& body, const std::vector<void*>& buffers) : body_(body), buffers_(buffers) {
    for (const schedule::Axis& axis : body.axes) space_ *= axis.extent;
  }

  /// Every instruction over the whole space, kept axes outermost. Row values are repeated along the row.
  void run() {
    values_.resize(body_.insts.size());
    for (std::size_t i = 0; i < body_.insts.size(); ++i) {
      const schedule::Inst& inst = body_.insts[i];
      if (inst.kind == schedule::InstKind::reduce)
        reduce(i);
      else
        each(i);
    }
  }

 private:
  std::int64_t place(const schedule::Access& access, std::int64_t at) const {
    std::int64_t address = access.offset;
    for (std::size_t a = body_.axes.size(); a-- > 0; at /= body_.axes[a].extent)
      address += at % body_.axes[a].extent * access.strides[a];
    return address;
  }

  void each(std::size_t i) {
    const schedule::Inst& inst = body_.insts[i];
    std::vector<Number>& out = values_[i];
    out.resize(static_cast<std::size_t>(space_));
    for (std::int64_t at = 0; at < space_; ++at) {
      Number x[3];
      for (std::size_t k = 0; k < inst.operands.size(); ++k)
        x[k] = values_[static_cast<std::size_t>(inst.operands[k])][static_cast<std::size_t>(at)];
      out[static_cast<std::size_t>(at)] = one(inst, at, x);
    }
  }

  Number one(const schedule::Inst& inst, std::int64_t at, const Number* x) {
    const auto buffer = static_cast<std::size_t>(std::max(inst.access.buffer, 0));
    switch (inst.kind) {
      case schedule::InstKind::load:
        return read(buffers_[buffer], place(inst.access, at), inst.dtype);
      case schedule::InstKind::store:
        write(buffers_[buffer], place(inst.access, at), body_.buffers[buffer].dtype, x[0]);
        return {};
      case schedule::InstKind::index:
        return {0, place(inst.access, at)};
      case schedule::InstKind::constant: {
        const Arg& c = inst.constant;
        if (c.is<double>()) return convert({c.as<double>(), 0}, DType::f64, inst.dtype);
        return convert({0, c.is<bool>() ? c.as<bool>() : c.as<std::int64_t>()}, DType::i64, inst.dtype);
      }
      default: {
        const std::size_t typed = inst.fn == "where" ? 1 : 0;
        const DType dtype = body_.insts[static_cast<std::size_t>(inst.operands[typed])].dtype;
        return map_reference(inst.fn, dtype, inst.dtype, x);
      }
    }
  }

  void reduce(std::size_t i) {
    const schedule::Inst& inst = body_.insts[i];
    const auto source = static_cast<std::size_t>(inst.operands[0]);
    const DType dtype = body_.insts[source].dtype;
    values_[i].resize(static_cast<std::size_t>(space_));
    const std::int64_t length = body_.reduced();
    for (std::int64_t row = 0; row < body_.kept(); ++row) {
      const Number result =
          round_to(row_value(inst.reduce, dtype, values_[source].data() + row * length, length), inst.dtype);
      for (std::int64_t k = 0; k < length; ++k) values_[i][static_cast<std::size_t>(row * length + k)] = result;
    }
  }

  static Number row_value(ir::ReduceKind kind, DType dtype, const Number* x, std::int64_t n) {
    const bool floats = is_float(dtype);
    Number acc = kind == ir::ReduceKind::prod || kind == ir::ReduceKind::all ? Number{1, 1} : Number{};
    std::int64_t best = 0;
    const auto beats = [&](const Number& a, const Number& b, bool greater) {
      if (floats) return std::isnan(a.f) ? !std::isnan(b.f) : greater ? a.f > b.f : a.f < b.f;
      return greater ? a.i > b.i : a.i < b.i;
    };
    for (std::int64_t k = 0; k < n; ++k) {
      switch (kind) {
        case ir::ReduceKind::sum:
          acc.f += x[k].f,
              acc.i = static_cast<std::int64_t>(static_cast<std::uint64_t>(acc.i) + static_cast<std::uint64_t>(x[k].i));
          break;
        case ir::ReduceKind::prod:
          acc.f *= x[k].f,
              acc.i = static_cast<std::int64_t>(static_cast<std::uint64_t>(acc.i) * static_cast<std::uint64_t>(x[k].i));
          break;
        case ir::ReduceKind::any:
          acc.i |= floats ? x[k].f != 0 : x[k].i != 0;
          break;
        case ir::ReduceKind::all:
          acc.i &= floats ? x[k].f != 0 : x[k].i != 0;
          break;
        default: {
          const bool greater = kind == ir::ReduceKind::max || kind == ir::ReduceKind::argmax;
          if (beats(x[k], x[best], greater)) best = k;
        }
      }
    }
    if (kind == ir::ReduceKind::max || kind == ir::ReduceKind::min) return x[best];
    if (kind == ir::ReduceKind::argmax || kind == ir::ReduceKind::argmin) return {0, best};
    return acc;
  }

  const schedule::Body& body_;
  const std::vector<void*>& buffers_;
  std::int64_t space_ = 1;
  std::vector<std::vector<Number>> values_;
};

/// buffers[b] holds the elements of body.buffers[b]; outputs are written.
inline void evaluate(const schedule::Body& body, const std::vector<void*>& buffers) { Oracle(body, buffers).run(); }

}  // namespace cudaagent::testing
