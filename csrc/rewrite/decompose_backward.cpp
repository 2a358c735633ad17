// Pointwise gradients that stand in graphs traced through autograd. Class: exact.
#include <cmath>
#include <numbers>

#include "rewrite/elementwise.h"

namespace cudaagent::rewrite {

namespace {

/// gradient * slope(x), both in the compute type.
Rule times_slope(const char* input, Val (*slope)(Builder&, Val)) {
  return [=](Builder& b, const Call& c) {
    Unified u = unify_checked(b, c, {c.operand("grad_output"), c.operand(input)});
    c.yield(b("mul", u.operands[0], slope(b, u.operands[1].value())));
  };
}

Val sigmoid_slope(Builder& b, Val y) { return b("mul", b("sub", 1, y), y); }

Val tanh_slope(Builder& b, Val y) { return b("sub", 1, b("mul", y, y)); }

Val silu_slope(Builder& b, Val x) {
  const Val gate = b("sigmoid", x);
  return b("mul", gate, b("add", b("mul", x, b("sub", 1, gate)), 1));
}

Val gelu_slope(Builder& b, Val x) {
  const Val density =
      b("mul", b("exp", b("mul", b("mul", x, x), -0.5)), 0.5 * std::numbers::inv_sqrtpi * std::numbers::sqrt2);
  const Val below = b("mul", b("add", b("erf", b("mul", x, std::numbers::sqrt2 / 2)), 1), 0.5);
  return b("add", below, b("mul", x, density));
}

Val gelu_tanh_slope(Builder& b, Val x) {
  const double beta = std::sqrt(2 / std::numbers::pi), kappa = 0.044715;
  const Val square = b("mul", x, x);
  const Val tanh = b("tanh", b("mul", b("add", x, b("mul", b("mul", square, x), kappa)), beta));
  const Val inner = b("mul", b("add", b("mul", square, 3 * kappa), 1), beta);
  const Val right = b("mul", b("mul", b("mul", x, 0.5), b("sub", 1, b("mul", tanh, tanh))), inner);
  return b("add", b("mul", b("add", tanh, 1), 0.5), right);
}

void gelu_backward(Builder& b, const Call& c) {
  const std::string_view approximate = c.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") return b.refuse("gelu approximated another way");
  Unified u = unify_checked(b, c, {c.operand("grad_output"), c.operand("self")});
  const Val x = u.operands[1].value();
  c.yield(b("mul", u.operands[0], approximate == "tanh" ? gelu_tanh_slope(b, x) : gelu_slope(b, x)));
}

void threshold_backward(Builder& b, const Call& c) {
  Unified u = unify_checked(b, c, {c.operand("grad_output"), c.operand("self")});
  const Operand limit(c.scalar("threshold", Arg{0.0}));
  c.yield(b("where", {b("le", u.operands[1], limit), 0, u.operands[0]}));
}

void logit_backward(Builder& b, const Call& c) {
  Unified u = unify_checked(b, c, {c.operand("grad_output"), c.operand("self")});
  const Val x = u.operands[1].value();
  const double eps = c.number("eps", -1), low = eps < 0 ? 0 : eps, high = 1 - low;
  const Val slope = b("div", u.operands[0], b("mul", x, b("sub", 1, x)));
  const Val inside = b("and", b("ge", x, low), b("le", x, high));
  c.yield(b("where", {inside, slope, eps < 0 ? std::nan("") : 0.0}));
}

void native_dropout_backward(Builder& b, const Call& c) {
  const Val gradient = b.compute(c.tensor("grad_output"), c.out().dtype);
  const Val mask = b.to(c.tensor("mask"), b.dtype(gradient));
  c.yield(b("mul", b("mul", gradient, mask), c.number("scale", 1)));
}

}  // namespace

void add_backward(Registry& r) {
  r.add({"sigmoid_backward"}, times_slope("output", sigmoid_slope));
  r.add({"tanh_backward"}, times_slope("output", tanh_slope));
  r.add({"silu_backward"}, times_slope("self", silu_slope));
  r.add({"gelu_backward"}, gelu_backward);
  r.add({"threshold_backward"}, threshold_backward);
  r.add({"logit_backward"}, logit_backward);
  r.add({"native_dropout_backward"}, native_dropout_backward);
}

}  // namespace cudaagent::rewrite
