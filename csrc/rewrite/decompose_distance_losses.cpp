// Losses that compare whole vectors. Class: reassociating.
#include "rewrite/elementwise.h"
#include "rewrite/reduction.h"

namespace cudaagent::rewrite {

namespace {

Val hinge(Builder& b, Val x) { return b("max", x, 0); }

void margin_ranking(Builder& b, const Call& c) {
  Unified u = unify_checked(b, c, {c.operand("input1"), c.operand("input2"), c.operand("target")});
  const Val order = b("mul", b("neg", u.operands[2]), b("sub", u.operands[0], u.operands[1]));
  c.yield(reduce_loss(b, hinge(b, b("add", order, c.number("margin", 0))), reduction_of(c)));
}

Val cosine(Builder& b, Val x, Val y, std::int64_t dim) {
  constexpr double tiny = 1e-12;
  const auto product = [&](Val left, Val right) { return sum(b, b("mul", left, right), {dim}, false); };
  const Val sizes = b("mul", b("add", product(x, x), tiny), b("add", product(y, y), tiny));
  return b("div", product(x, y), b("sqrt", sizes));
}

void cosine_embedding(Builder& b, const Call& c) {
  Unified u = unify_checked(b, c, {c.operand("input1"), c.operand("input2")});
  const Val x = u.operands[0].value(), y = u.operands[1].value(), target = c.tensor("target");
  const std::int64_t dim = b.rank(target);
  if (dim > 1 || b.rank(x) != dim + 1 || b.rank(y) != dim + 1)
    return b.refuse("vectors of other ranks than the target's");
  const Val cos = cosine(b, x, y, dim);
  const Val apart = hinge(b, b("sub", cos, c.number("margin", 0)));
  const Val loss =
      b("add", b("where", {b("eq", target, 1), b("sub", 1, cos), 0}), b("where", {b("eq", target, -1), apart, 0}));
  c.yield(reduce_loss(b, loss, reduction_of(c)));
}

void triplet_margin(Builder& b, const Call& c) {
  Unified u = unify_checked(b, c, {c.operand("anchor"), c.operand("positive"), c.operand("negative")});
  const auto distance = [&](const Operand& x, const Operand& y) {
    const Val apart = b("add", b("sub", x, y), c.number("eps", 1e-6));
    return vector_norm(b, apart, c.number("p", 2), b.rank(apart) == 0 ? Dims{} : Dims{b.rank(apart) - 1}, false);
  };
  const Val near = distance(u.operands[0], u.operands[1]);
  Val far = distance(u.operands[0], u.operands[2]);
  if (c.flag("swap", false)) far = b("min", far, distance(u.operands[1], u.operands[2]));
  c.yield(reduce_loss(b, hinge(b, b("sub", b("add", near, c.number("margin", 1)), far)), reduction_of(c)));
}

}  // namespace

void add_distance_losses(Registry& r) {
  r.add({"margin_ranking_loss"}, margin_ranking);
  r.add({"cosine_embedding_loss"}, cosine_embedding);
  r.add({"triplet_margin_loss"}, triplet_margin);
}

}  // namespace cudaagent::rewrite
