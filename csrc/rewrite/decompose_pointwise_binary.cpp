// Elementwise functions of two operands: arithmetic, comparison, bits. Class: exact.
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

#include "rewrite/elementwise.h"
#include "rewrite/promote.h"

namespace cudaagent::rewrite {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// a + sign * alpha * b in the promoted dtype.
void scaled_sum(Builder& b, const Call& c, const char* left, const char* right, const char* fn) {
  Unified u = unify_checked(b, c, {c.operand(left), c.operand(right)});
  const Arg alpha = c.scalar("alpha", Arg{std::int64_t{1}});
  Operand scaled = u.operands[1];
  if (number_of(alpha) != 1) {
    if (!scaled.is_value()) scaled = b.full({}, compute_dtype(u.common), scaled.number());
    scaled = b("mul", scaled, Operand(alpha));
  }
  c.yield(b(fn, u.operands[0], scaled));
}

Rule sum_rule(const char* left, const char* right, const char* fn) {
  return [=](Builder& b, const Call& c) { scaled_sum(b, c, left, right, fn); };
}

/// One map function in the promoted dtype.
Rule promoted(const char* fn) {
  return [fn](Builder& b, const Call& c) {
    Unified u = unify_checked(b, c, {c.operand("self"), c.operand("other")});
    c.yield(b(fn, u.operands[0], u.operands[1]));
  };
}

/// A division that rounds, or its remainder. On the CPU eager raises where an integer is divided by zero, and so must
/// we: only a divisor known not to be zero is computed here.
Rule rounded_quotient(const char* fn) {
  return [fn](Builder& b, const Call& c) {
    const Operand divisor = c.operand("other");
    const DType common = common_dtype(b, {c.operand("self"), divisor});
    if (b.device().type == DeviceType::cpu && !is_float(common) &&
        (divisor.is_value() || number_of(divisor.number()) == 0))
      return b.refuse("an integer divided by what may be zero, where eager raises");
    promoted(fn)(b, c);
  };
}

/// One map function of floats; integers become float first.
Rule promoted_float(const char* fn) {
  return [fn](Builder& b, const Call& c) {
    Unified u = unify_float(b, c, {c.operand("self"), c.operand("other")});
    c.yield(b(fn, u.operands[0], u.operands[1]));
  };
}

/// On the CPU torch compares in the promoted dtype, so a number is rounded to it; on CUDA in the wider one.
Rule comparison(const char* fn) {
  return [fn](Builder& b, const Call& c) {
    std::vector<Operand> operands = {c.operand("self"), c.operand("other")};
    const DType common = common_dtype(b, operands);
    if (b.device().type == DeviceType::cpu && is_float(common) && dtype_size(common) == 2)
      for (Operand& operand : operands)
        if (!operand.is_value()) operand = b.full({}, common, operand.number());
    Unified u = unify(b, operands, common);
    c.yield(b(fn, u.operands[0], u.operands[1]));
  };
}

Rule logical(const char* fn) {
  return [fn](Builder& b, const Call& c) {
    c.yield(b(fn, b.to(c.tensor("self"), DType::b8), b.to(c.tensor("other"), DType::b8)));
  };
}

void divide(Builder& b, const Call& c) {
  const std::string_view mode = c.text("rounding_mode", "");
  if (mode.empty()) return promoted_float("div")(b, c);
  rounded_quotient(mode == "floor" ? "div_floor" : "div_trunc")(b, c);
}

/// x ** exponent with the shortcuts torch takes itself.
Val power(Builder& b, Val x, const Arg& exponent) {
  const double p = number_of(exponent);
  if (p == 0) return b.full(b.dims(x), b.dtype(x), Arg{std::int64_t{1}});
  if (p == 1) return x;
  if (p == 2) return b("mul", x, x);
  if (p == 3) return b("mul", b("mul", x, x), x);
  if (is_float(b.dtype(x))) {
    if (p == 0.5) return b("sqrt", x);
    if (p == -0.5) return b("rsqrt", x);
    if (p == -1) return b("reciprocal", x);
    if (p == -2) return b("reciprocal", b("mul", x, x));
  } else if (p < 0) {
    b.refuse("an integer to a negative power");
  }
  return b("pow", x, Operand(exponent));
}

void pow_scalar(Builder& b, const Call& c) {
  const Arg exponent = c.scalar("exponent", Arg{std::int64_t{1}});
  c.yield(power(b, unify_checked(b, c, {c.operand("self"), Operand(exponent)}).operands[0].value(), exponent));
}

void pow_any(Builder& b, const Call& c) {
  Unified u = unify_checked(b, c, {c.operand("self"), c.operand("exponent")});
  c.yield(b("pow", u.operands[0], u.operands[1]));
}

void float_power(Builder& b, const Call& c) {
  Unified u = unify(b, {c.operand("self"), c.operand("exponent")}, DType::f64);
  if (u.operands[1].is_value()) return c.yield(b("pow", u.operands[0], u.operands[1]));
  c.yield(power(b, u.operands[0].value(), u.operands[1].number()));
}

/// log(base**x + base**y) without overflow; equal infinities are their own sum.
Rule log_add(const char* exp, double scale) {
  return [=](Builder& b, const Call& c) {
    Unified u = unify_float(b, c, {c.operand("self"), c.operand("other")});
    const Operand x = u.operands[0], y = u.operands[1];
    Val tail = b("log1p", b(exp, b("neg", b("abs", b("sub", x, y)))));
    if (scale != 1) tail = b("mul", tail, scale);
    const Val same = b("and", b("isinf", x), b("eq", x, y));
    c.yield(b("where", {same, x, b("add", b("max", x, y), tail)}));
  };
}

/// x * log(y), zero where x is zero unless y is NaN.
Rule x_log_y(const char* log) {
  return [log](Builder& b, const Call& c) {
    Unified u = unify_float(b, c, {c.operand("self"), c.operand("other")});
    const Val dead = b.full({}, compute_dtype(u.common), Arg{nan});
    const Val x =
        u.operands[0].is_value() ? u.operands[0].value() : b.full({}, compute_dtype(u.common), u.operands[0].number());
    const Val y =
        u.operands[1].is_value() ? u.operands[1].value() : b.full({}, compute_dtype(u.common), u.operands[1].number());
    const Val product = b("where", {b("eq", x, 0), 0, b("mul", x, b(log, y))});
    c.yield(b("where", {b("isnan", y), dead, product}));
  };
}

void heaviside(Builder& b, const Call& c) {
  Unified u = unify_checked(b, c, {c.operand("self"), c.operand("values")});
  const Val x = u.operands[0].value();
  c.yield(b("where", {b("eq", x, 0), u.operands[1], b.to(b("gt", x, 0), b.dtype(x))}));
}

void nextafter(Builder& b, const Call& c) {
  if (compute_dtype(c.out().dtype) != c.out().dtype) return b.refuse("nextafter of a half type");
  promoted("nextafter")(b, c);
}

void outer(Builder& b, const Call& c) {
  Unified u = unify_checked(b, c, {b.unsqueeze(c.tensor("self"), 1), c.operand("vec2")});
  c.yield(b("mul", u.operands[0], u.operands[1]));
}

void add_arithmetic(Registry& r) {
  r.add({"add.Tensor", "add.Scalar"}, sum_rule("self", "other", "add"));
  r.add({"sub.Tensor", "sub.Scalar", "subtract.Tensor", "subtract.Scalar"}, sum_rule("self", "other", "sub"));
  r.add({"rsub.Tensor", "rsub.Scalar"}, sum_rule("other", "self", "sub"));
  r.add({"mul.Tensor", "mul.Scalar", "multiply.Tensor", "multiply.Scalar"}, promoted("mul"));
  r.add({"div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode", "divide.Tensor", "divide.Scalar",
         "divide.Tensor_mode", "divide.Scalar_mode", "true_divide.Tensor", "true_divide.Scalar"},
        divide);
  r.add({"floor_divide", "floor_divide.Scalar"}, rounded_quotient("div_floor"));
  r.add({"fmod.Tensor", "fmod.Scalar"}, rounded_quotient("fmod"));
  r.add({"remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor"}, rounded_quotient("remainder"));
  r.add({"pow.Tensor_Scalar"}, pow_scalar);
  r.add({"pow.Tensor_Tensor", "pow.Scalar"}, pow_any);
  r.add({"float_power.Tensor_Tensor", "float_power.Tensor_Scalar", "float_power.Scalar"}, float_power);
  r.add({"outer", "ger"}, outer);
}

void add_comparisons(Registry& r) {
  for (const auto& [fn, longer] : {std::tuple("eq", ""),
                                   {"ne", "not_equal"},
                                   {"lt", "less"},
                                   {"le", "less_equal"},
                                   {"gt", "greater"},
                                   {"ge", "greater_equal"}}) {
    for (const std::string& name : {std::string(fn), std::string(longer)}) {
      if (name.empty()) continue;
      r.add({(name + ".Tensor").c_str(), (name + ".Scalar").c_str()}, comparison(fn));
    }
  }
  r.add({"logical_and"}, logical("and"));
  r.add({"logical_or"}, logical("or"));
  r.add({"logical_xor"}, logical("xor"));
}

}  // namespace

void add_binary(Registry& r) {
  add_arithmetic(r);
  add_comparisons(r);
  for (const char* fn : {"and", "or", "xor"}) {
    const std::string name = std::string("bitwise_") + fn, old = std::string("__") + fn + "__";
    r.add({(name + ".Tensor").c_str(), (name + ".Scalar").c_str(), (name + ".Scalar_Tensor").c_str(),
           (old + ".Tensor").c_str(), (old + ".Scalar").c_str()},
          promoted(fn));
  }
  r.add({"bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "bitwise_left_shift.Scalar_Tensor",
         "__lshift__.Tensor", "__lshift__.Scalar"},
        promoted("shl"));
  r.add({"bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", "bitwise_right_shift.Scalar_Tensor",
         "__rshift__.Tensor", "__rshift__.Scalar"},
        promoted("shr"));
  r.add({"maximum", "max.other"}, promoted("max"));
  r.add({"minimum", "min.other"}, promoted("min"));
  r.add({"fmax"}, promoted("fmax"));
  r.add({"fmin"}, promoted("fmin"));
  r.add({"atan2", "arctan2"}, promoted_float("atan2"));
  r.add({"copysign.Tensor", "copysign.Scalar"}, promoted_float("copysign"));
  r.add({"hypot"}, promoted_float("hypot"));
  r.add({"nextafter"}, nextafter);
  r.add({"heaviside"}, heaviside);
  r.add({"logaddexp"}, log_add("exp", 1));
  r.add({"logaddexp2"}, log_add("exp2", std::numbers::log2e));
  r.add({"xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self", "special_xlogy", "special_xlogy.self_scalar",
         "special_xlogy.other_scalar"},
        x_log_y("log"));
  r.add({"special_xlog1py", "special_xlog1py.self_scalar", "special_xlog1py.other_scalar"}, x_log_y("log1p"));
}

}  // namespace cudaagent::rewrite
