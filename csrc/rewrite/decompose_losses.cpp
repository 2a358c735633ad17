// Losses that compare element with element. Class: reassociating (the final mean or sum).
#include <cmath>
#include <numbers>

#include "rewrite/elementwise.h"
#include "rewrite/reduction.h"

namespace cudaagent::rewrite {

std::int64_t reduction_of(const Call& c) { return c.integer("reduction", 1); }

Val reduce_loss(Builder& b, Val loss, std::int64_t reduction) {
  if (reduction == 0) return loss;
  const Dims dims = b.axes(loss, {});
  return reduction == 1 ? mean(b, loss, dims, false) : sum(b, loss, dims, false);
}

namespace {

/// A rule from the loss of one element, given input and target in their compute type.
Rule elementwise(Val (*loss)(Builder&, const Call&, Val, Val)) {
  return [loss](Builder& b, const Call& c) {
    Unified u = unify_checked(b, c, {c.operand(c.has("self") ? "self" : "input"), c.operand("target")});
    c.yield(reduce_loss(b, loss(b, c, u.operands[0].value(), u.operands[1].value()), reduction_of(c)));
  };
}

Val squared(Builder& b, const Call&, Val x, Val y) {
  const Val difference = b("sub", x, y);
  return b("mul", difference, difference);
}

Val absolute(Builder& b, const Call&, Val x, Val y) { return b("abs", b("sub", x, y)); }

Val smooth_l1(Builder& b, const Call& c, Val x, Val y) {
  const double beta = c.number("beta", 1);
  const Val size = b("abs", b("sub", x, y));
  if (beta == 0) return size;
  const Val inside = b("div", b("mul", b("mul", size, size), 0.5), beta);
  return b("where", {b("lt", size, beta), inside, b("sub", size, 0.5 * beta)});
}

Val huber(Builder& b, const Call& c, Val x, Val y) {
  const double delta = c.number("delta", 1);
  const Val size = b("abs", b("sub", x, y));
  const Val inside = b("mul", b("mul", size, size), 0.5);
  return b("where", {b("le", size, delta), inside, b("mul", b("sub", size, 0.5 * delta), delta)});
}

/// Terms with a target of zero are zero, as x log x is there.
Val divergence(Builder& b, const Call& c, Val x, Val y) {
  if (c.flag("log_target", false)) return b("mul", b("exp", y), b("sub", y, x));
  const Val entropy = b("where", {b("eq", y, 0), b("mul", y, 0), b("mul", y, b("log", y))});
  return b("sub", entropy, b("mul", y, x));
}

Val weighted(Builder& b, const Call& c, Val loss) {
  if (!c.has("weight")) return loss;
  return b("mul", loss, b.compute(c.tensor("weight"), c.out().dtype));
}

/// Both logarithms are cut off at -100, so that a certain and wrong answer has a finite loss.
Val cross_entropy(Builder& b, const Call& c, Val x, Val y) {
  const Val yes = b("max", b("log", x), -100), no = b("max", b("log1p", b("neg", x)), -100);
  return weighted(b, c, b("sub", b("mul", b("sub", y, 1), no), b("mul", y, yes)));
}

Val cross_entropy_of_logits(Builder& b, const Call& c, Val x, Val y) {
  const Val log_sigmoid = b("sub", b("min", x, 0), b("log1p", b("exp", b("neg", b("abs", x)))));
  Val positive = log_sigmoid;
  if (c.has("pos_weight")) {
    const Val weight = b.compute(c.tensor("pos_weight"), c.out().dtype);
    positive = b("mul", log_sigmoid, b("add", b("mul", b("sub", weight, 1), y), 1));
  }
  return weighted(b, c, b("sub", b("mul", b("sub", 1, y), x), positive));
}

Val soft_margin(Builder& b, const Call&, Val x, Val y) { return b("log1p", b("exp", b("mul", b("neg", x), y))); }

Val poisson(Builder& b, const Call& c, Val x, Val y) {
  const bool log_input = c.flag("log_input", true);
  Val loss = log_input ? b("sub", b("exp", x), b("mul", y, x))
                       : b("sub", x, b("mul", y, b("log", b("add", x, c.number("eps", 1e-8)))));
  if (!c.flag("full", false)) return loss;
  const Val stirling =
      b("add", b("sub", b("mul", y, b("log", y)), y), b("mul", b("log", b("mul", y, 2 * std::numbers::pi)), 0.5));
  return b("add", loss, b("where", {b("le", y, 1), 0, stirling}));
}

Val hinge_embedding(Builder& b, const Call& c, Val x, Val y) {
  const Val apart = b("max", b("sub", c.number("margin", 1), x), 0);
  return b("add", b("where", {b("ne", y, 1), apart, 0}), b("where", {b("ne", y, -1), x, 0}));
}

}  // namespace

void add_losses(Registry& r) {
  r.add({"mse_loss"}, elementwise(squared));
  r.add({"l1_loss"}, elementwise(absolute));
  r.add({"smooth_l1_loss"}, elementwise(smooth_l1));
  r.add({"huber_loss"}, elementwise(huber));
  r.add({"kl_div"}, elementwise(divergence));
  r.add({"binary_cross_entropy"}, elementwise(cross_entropy));
  r.add({"binary_cross_entropy_with_logits"}, elementwise(cross_entropy_of_logits));
  r.add({"soft_margin_loss"}, elementwise(soft_margin));
  r.add({"poisson_nll_loss"}, elementwise(poisson));
  r.add({"hinge_embedding_loss"}, elementwise(hinge_embedding));
}

}  // namespace cudaagent::rewrite
