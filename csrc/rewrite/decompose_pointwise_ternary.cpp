// Elementwise functions of three operands. Class: exact.
#include "rewrite/elementwise.h"
#include "rewrite/promote.h"

namespace cudaagent::rewrite {

namespace {

/// self + value * tensor1 (fn) tensor2, multiplied from the left as eager does.
Rule add_scaled(const char* fn) {
  return [fn](Builder& b, const Call& c) {
    Unified u = unify_checked(b, c, {c.operand("self"), c.operand("tensor1"), c.operand("tensor2")});
    const Arg value = c.scalar("value", Arg{std::int64_t{1}});
    const Operand scaled = number_of(value) == 1 ? u.operands[1] : b("mul", u.operands[1], Operand(value));
    c.yield(b("add", u.operands[0], b(fn, scaled, u.operands[2])));
  };
}

/// Interpolates from the nearer end, so that weight 1 gives `end` exactly.
void lerp(Builder& b, const Call& c) {
  Unified u = unify_checked(b, c, {c.operand("self"), c.operand("end")});
  const Val start = u.operands[0].value(), end = u.operands[1].value();
  const Val way = b("sub", end, start);
  if (!c.is_tensor("weight")) {
    const double weight = c.number("weight", 0);
    if (weight > -0.5 && weight < 0.5) return c.yield(b("add", start, b("mul", way, weight)));
    return c.yield(b("sub", end, b("mul", way, 1 - weight)));
  }
  const Val weight = b.compute(c.tensor("weight"), u.common);
  const Val from_start = b("add", start, b("mul", way, weight));
  const Val from_end = b("sub", end, b("mul", way, b("sub", 1, weight)));
  c.yield(b("where", {b("lt", b("abs", weight), 0.5), from_start, from_end}));
}

}  // namespace

void add_ternary(Registry& r) {
  r.add({"addcmul"}, add_scaled("mul"));
  r.add({"addcdiv"}, add_scaled("div"));
  r.add({"lerp.Scalar", "lerp.Tensor"}, lerp);
}

}  // namespace cudaagent::rewrite
