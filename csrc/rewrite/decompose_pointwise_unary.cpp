// Elementwise functions of one tensor. Class: exact, up to the library functions' own rounding.
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

#include "rewrite/elementwise.h"

namespace cudaagent::rewrite {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double pi = std::numbers::pi;

/// A rule from a function of the float input.
Rule of_float(Val (*body)(Builder&, Val)) {
  return [body](Builder& b, const Call& c) { c.yield(body(b, float_input(b, c, "self"))); };
}

/// One map function; integers become float first.
Rule float_map(const char* fn) {
  return [fn](Builder& b, const Call& c) { c.yield(b(fn, float_input(b, c, "self"))); };
}

/// One map function in the operand's own dtype.
Rule same_map(const char* fn) {
  return [fn](Builder& b, const Call& c) {
    const Val x = c.tensor("self");
    c.yield(b(fn, b.compute(x, b.dtype(x))));
  };
}

Val finite(Builder& b, Val x) { return b("lt", b("abs", x), inf); }

/// Predicates on floats that are constant on integers.
Rule float_predicate(Val (*body)(Builder&, Val), bool on_integers) {
  return [body, on_integers](Builder& b, const Call& c) {
    const Val x = c.tensor("self");
    if (!is_float(b.dtype(x))) return c.yield(b(on_integers ? "eq" : "ne", x, x));
    c.yield(body(b, b.compute(x, b.dtype(x))));
  };
}

Val sinc(Builder& b, Val x) {
  const Val scaled = b("mul", x, pi);
  return b("where", {b("eq", x, 0), 1, b("div", b("sin", scaled), scaled)});
}

Val entropy(Builder& b, Val x) {
  const Val inside = b("neg", b("mul", x, b("log", x)));
  const Val outside = b("where", {b("eq", x, 0), b("mul", x, 0), -inf});
  return b("where", {b("isnan", x), x, b("where", {b("gt", x, 0), inside, outside})});
}

void logit(Builder& b, const Call& c) {
  Val x = float_input(b, c, "self");
  const double eps = c.number("eps", -1);
  if (eps >= 0) x = b("min", b("max", x, eps), 1 - eps);
  c.yield(b("log", b("div", x, b("sub", 1, x))));
}

void nan_to_num(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  if (!is_float(b.dtype(x))) return c.yield(x);
  double most = std::numeric_limits<double>::max();
  if (b.dtype(x) == DType::f32) most = std::numeric_limits<float>::max();
  if (b.dtype(x) == DType::f16) most = 65504;
  if (b.dtype(x) == DType::bf16) most = 0x1.fep127;
  const Val y = b.compute(x, b.dtype(x));
  const Val above = b("where", {b("eq", y, inf), c.number("posinf", most), y});
  const Val below = b("where", {b("eq", y, -inf), c.number("neginf", -most), above});
  c.yield(b("where", {b("isnan", y), c.number("nan", 0), below}));
}

void round_decimals(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  if (!is_float(b.dtype(x))) return c.yield(x);
  const auto decimals = c.integer("decimals", 0);
  const Val y = b.compute(x, b.dtype(x));
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  const auto out = decimals < 0 ? "div" : "mul", back = decimals < 0 ? "mul" : "div";
  c.yield(decimals == 0 ? b("round", y) : b(back, b("round", b(out, y, scale)), scale));
}

void mvlgamma(Builder& b, const Call& c) {
  const auto p = c.integer("p", 1);
  const Val x = float_input(b, c, "self");
  Val sum = b("lgamma", x);
  for (std::int64_t j = 1; j < p; ++j) sum = b("add", sum, b("lgamma", b("sub", x, static_cast<double>(j) / 2)));
  c.yield(b("add", sum, static_cast<double>(p * (p - 1)) * std::log(pi) / 4));
}

void polygamma(Builder& b, const Call& c) {
  if (c.integer("n", -1) != 0) return b.refuse("polygamma of an order above 0");
  c.yield(b("digamma", float_input(b, c, "self")));
}

void logical_not(Builder& b, const Call& c) { c.yield(b("not", b.to(c.tensor("self"), DType::b8))); }

void add_float_maps(Registry& r) {
  for (const char* fn :
       {"exp",     "exp2",  "expm1", "log", "log2", "log10",  "log1p",  "sqrt",    "rsqrt", "reciprocal",
        "sigmoid", "sin",   "cos",   "tan", "asin", "acos",   "atan",   "sinh",    "cosh",  "tanh",
        "asinh",   "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma", "digamma", "i0"}) {
    r.add({fn}, float_map(fn));
  }
  for (const auto& [name, fn] : {std::tuple("special_expit", "sigmoid"),
                                 {"special_exp2", "exp2"},
                                 {"special_expm1", "expm1"},
                                 {"special_log1p", "log1p"},
                                 {"special_erf", "erf"},
                                 {"special_erfc", "erfc"},
                                 {"special_erfinv", "erfinv"},
                                 {"special_gammaln", "lgamma"},
                                 {"special_digamma", "digamma"},
                                 {"special_psi", "digamma"},
                                 {"special_i0", "i0"},
                                 {"special_i1", "i1"},
                                 {"arcsin", "asin"},
                                 {"arccos", "acos"},
                                 {"arctan", "atan"},
                                 {"arcsinh", "asinh"},
                                 {"arccosh", "acosh"},
                                 {"arctanh", "atanh"}}) {
    r.add({name}, float_map(fn));
  }
}

}  // namespace

void add_unary(Registry& r) {
  add_float_maps(r);
  for (const char* fn : {"neg", "abs", "sign", "floor", "ceil", "round", "trunc", "signbit"}) r.add({fn}, same_map(fn));
  r.add({"negative"}, same_map("neg"));
  r.add({"absolute"}, same_map("abs"));
  r.add({"sgn"}, same_map("sign"));
  r.add({"fix"}, same_map("trunc"));
  r.add({"bitwise_not"}, same_map("not"));
  r.add({"logical_not"}, logical_not);
  r.add({"isnan"}, float_predicate([](Builder& b, Val x) { return b("isnan", x); }, false));
  r.add({"isinf"}, float_predicate([](Builder& b, Val x) { return b("isinf", x); }, false));
  r.add({"isfinite"}, float_predicate(finite, true));
  r.add({"isposinf"}, float_predicate([](Builder& b, Val x) { return b("eq", x, inf); }, false));
  r.add({"isneginf"}, float_predicate([](Builder& b, Val x) { return b("eq", x, -inf); }, false));
  r.add({"square"}, [](Builder& b, const Call& c) {
    const Val x = unify_checked(b, c, {c.operand("self"), 1}).operands[0].value();
    c.yield(b("mul", x, x));
  });
  r.add({"frac"}, of_float([](Builder& b, Val x) { return b("sub", x, b("trunc", x)); }));
  r.add({"deg2rad"}, of_float([](Builder& b, Val x) { return b("mul", x, pi / 180); }));
  r.add({"rad2deg"}, of_float([](Builder& b, Val x) { return b("mul", x, 180 / pi); }));
  r.add({"angle"}, of_float([](Builder& b, Val x) {
          return b("where", {b("isnan", x), x, b.where(b("lt", x, 0), pi, 0.0, b.dtype(x))});
        }));
  r.add({"sinc", "special_sinc"}, of_float(sinc));
  r.add({"special_entr"}, of_float(entropy));
  r.add({"special_ndtr"},
        of_float([](Builder& b, Val x) { return b("mul", b("erfc", b("mul", x, -std::numbers::sqrt2 / 2)), 0.5); }));
  r.add({"logit", "special_logit"}, logit);
  r.add({"nan_to_num"}, nan_to_num);
  r.add({"round.decimals", "special_round"}, round_decimals);
  r.add({"mvlgamma", "special_multigammaln"}, mvlgamma);
  r.add({"polygamma", "special_polygamma"}, polygamma);
}

}  // namespace cudaagent::rewrite
