// Activation functions. Class: exact, up to the library functions' own rounding.
#include <cmath>
#include <numbers>

#include "rewrite/elementwise.h"

namespace cudaagent::rewrite {

namespace {

constexpr double selu_alpha = 1.6732632423543772848170429916717;
constexpr double selu_scale = 1.0507009873554804934193349852946;

Rule of_float(Val (*body)(Builder&, Val)) {
  return [body](Builder& b, const Call& c) { c.yield(body(b, float_input(b, c, "self"))); };
}

Val clamp(Builder& b, Val x, double low, double high) { return b("min", b("max", x, low), high); }

Val silu(Builder& b, Val x) { return b("mul", x, b("sigmoid", x)); }

Val log_sigmoid(Builder& b, Val x) { return b("sub", b("min", x, 0), b("log1p", b("exp", b("neg", b("abs", x))))); }

Val hard_gate(Builder& b, Val x) { return clamp(b, b("add", x, 3), 0, 6); }

Val exponential_linear(Builder& b, Val x, double negative, double positive, double input_scale) {
  const Val below = b("mul", b("expm1", input_scale == 1 ? x : b("mul", x, input_scale)), negative);
  return b("where", {b("le", x, 0), below, positive == 1 ? x : b("mul", x, positive)});
}

Val gelu_value(Builder& b, Val x, bool tanh) {
  if (!tanh) return b("mul", b("mul", x, 0.5), b("add", b("erf", b("mul", x, std::numbers::sqrt2 / 2)), 1));
  const Val cube = b("mul", b("mul", b("mul", x, x), x), 0.044715);
  // (1 + tanh(u)) / 2 is sigmoid(2u), with fewer steps and no cancellation for negative u.
  return b("mul", x, b("sigmoid", b("mul", b("add", x, cube), 2 * std::sqrt(2 / std::numbers::pi))));
}

void gelu(Builder& b, const Call& c) {
  const std::string_view approximate = c.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") return b.refuse("gelu approximated another way");
  c.yield(gelu_value(b, float_input(b, c, "self"), approximate == "tanh"));
}

void relu(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  c.yield(b("max", b.compute(x, b.dtype(x)), 0));
}

void hardtanh(Builder& b, const Call& c) {
  Unified u = unify(b, {c.operand("self")}, c.out().dtype);
  const Operand low(c.scalar("min_val", Arg{-1.0})), high(c.scalar("max_val", Arg{1.0}));
  c.yield(b("min", b("max", u.operands[0], low), high));
}

void relu6(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  c.yield(b("min", b("max", b.compute(x, b.dtype(x)), 0), 6));
}

void elu(Builder& b, const Call& c) {
  const double alpha = c.number("alpha", 1), scale = c.number("scale", 1);
  c.yield(exponential_linear(b, float_input(b, c, "self"), alpha * scale, scale, c.number("input_scale", 1)));
}

void celu(Builder& b, const Call& c) {
  const double alpha = c.number("alpha", 1);
  c.yield(exponential_linear(b, float_input(b, c, "self"), alpha, 1, 1 / alpha));
}

Val leaky(Builder& b, Val x, Operand slope) { return b("where", {b("gt", x, 0), x, b("mul", x, slope)}); }

void leaky_relu(Builder& b, const Call& c) {
  c.yield(leaky(b, float_input(b, c, "self"), c.number("negative_slope", 0.01)));
}

/// In training the slope is drawn at random.
void rrelu(Builder& b, const Call& c) {
  if (c.flag("training", false)) return b.refuse("random in training");
  const double slope = (c.number("lower", 1.0 / 8) + c.number("upper", 1.0 / 3)) / 2;
  c.yield(leaky(b, float_input(b, c, "self"), slope));
}

void prelu(Builder& b, const Call& c) {
  const Val x = float_input(b, c, "self");
  Val weight = b.compute(c.tensor("weight"), c.out().dtype);
  if (b.rank(weight) == 1) {
    Dims dims(static_cast<std::size_t>(b.rank(x)), 1);
    if (b.rank(x) > 1) dims[1] = b.extent(weight, 0);
    weight = b.reshape(weight, dims);
  }
  c.yield(leaky(b, x, weight));
}

void softplus(Builder& b, const Call& c) {
  const double beta = c.number("beta", 1), threshold = c.number("threshold", 20);
  const Val x = float_input(b, c, "self");
  const Val scaled = beta == 1 ? x : b("mul", x, beta);
  const Val soft = b("log1p", b("exp", scaled));
  c.yield(b("where", {b("gt", scaled, threshold), x, beta == 1 ? soft : b("div", soft, beta)}));
}

void softshrink(Builder& b, const Call& c) {
  const double lambda = c.number("lambd", 0.5);
  const Val x = float_input(b, c, "self");
  // Inside the band x * 0 is zero, and NaN where x is.
  const Val low = b("where", {b("lt", x, -lambda), b("add", x, lambda), b("mul", x, 0)});
  c.yield(b("where", {b("gt", x, lambda), b("sub", x, lambda), low}));
}

void hardshrink(Builder& b, const Call& c) {
  const Val x = float_input(b, c, "self");
  c.yield(b("where", {b("le", b("abs", x), c.number("lambd", 0.5)), 0, x}));
}

void threshold(Builder& b, const Call& c) {
  Unified u = unify(b, {c.operand("self")}, c.out().dtype);
  const Operand limit(c.scalar("threshold", Arg{0.0})), value(c.scalar("value", Arg{0.0}));
  c.yield(b("where", {b("le", u.operands[0], limit), value, u.operands[0]}));
}

void glu(Builder& b, const Call& c) {
  const Val x = float_input(b, c, "self");
  const std::int64_t dim = b.axis(c.integer("dim", -1), b.rank(x));
  if (b.rank(x) == 0 || b.extent(x, dim) % 2 != 0) return b.refuse("a dim that does not halve");
  const std::int64_t half = b.extent(x, dim) / 2;
  c.yield(b("mul", b.slice(x, dim, 0, 1, half), b("sigmoid", b.slice(x, dim, half, 1, half))));
}

}  // namespace

void add_activations(Registry& r) {
  r.add({"relu"}, relu);
  r.add({"relu6"}, relu6);
  r.add({"hardtanh"}, hardtanh);
  r.add({"elu"}, elu);
  r.add({"celu"}, celu);
  r.add({"selu"},
        of_float([](Builder& b, Val x) { return exponential_linear(b, x, selu_alpha * selu_scale, selu_scale, 1); }));
  r.add({"leaky_relu"}, leaky_relu);
  r.add({"rrelu"}, rrelu);
  r.add({"prelu", "_prelu_kernel"}, prelu);
  r.add({"gelu"}, gelu);
  r.add({"silu"}, of_float(silu));
  r.add({"mish"}, of_float([](Builder& b, Val x) { return b("mul", x, b("tanh", b("log1p", b("exp", x)))); }));
  r.add({"softplus"}, softplus);
  r.add({"log_sigmoid"}, of_float(log_sigmoid));
  r.add({"log_sigmoid_forward"}, of_float(log_sigmoid));
  r.add({"hardsigmoid"}, of_float([](Builder& b, Val x) { return b("div", hard_gate(b, x), 6); }));
  r.add({"hardswish"}, of_float([](Builder& b, Val x) { return b("div", b("mul", x, hard_gate(b, x)), 6); }));
  r.add({"softshrink"}, softshrink);
  r.add({"hardshrink"}, hardshrink);
  r.add({"threshold"}, threshold);
  r.add({"glu"}, glu);
}

}  // namespace cudaagent::rewrite
