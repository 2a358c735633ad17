// Choosing elements: where, masks, clamps, triangles. Class: exact.
#include <algorithm>

#include "rewrite/elementwise.h"

namespace cudaagent::rewrite {

namespace {

void where(Builder& b, const Call& c) {
  const Val condition = b.to(c.tensor("condition"), DType::b8);
  Unified u = unify_checked(b, c, {c.operand("self"), c.operand("other")});
  c.yield(b("where", {condition, u.operands[0], u.operands[1]}));
}

/// The value takes the tensor's dtype; it does not promote.
void masked_fill(Builder& b, const Call& c) {
  const Val x = b.compute(c.tensor("self"), c.out().dtype);
  Operand value = c.operand("value");
  if (value.is_value()) value = b.compute(value.value(), c.out().dtype);
  c.yield(b("where", {b.to(c.tensor("mask"), DType::b8), value, x}));
}

void fill(Builder& b, const Call& c) {
  const Operand value = c.operand("value");
  if (!value.is_value()) return c.yield(b.full(c.out().dims, c.out().dtype, value.number()));
  c.yield(b.expand(b.to(value.value(), c.out().dtype), c.out().dims));
}

void copy(Builder& b, const Call& c) { c.yield(b.expand(b.to(c.tensor("src"), c.out().dtype), c.out().dims)); }

/// Bounds are numbers or tensors, either may be missing. NaN stays, in the input as in the bounds.
void clamp(Builder& b, const Call& c) {
  std::vector<Operand> operands = {c.operand("self")};
  for (const char* name : {"min", "max"}) {
    if (c.has(name)) operands.push_back(c.operand(name));
  }
  Unified u = unify_checked(b, c, std::move(operands));
  Operand x = u.operands[0];
  std::size_t next = 1;
  if (c.has("min")) x = b("max", x, u.operands[next++]);
  if (c.has("max")) x = b("min", x, u.operands[next]);
  c.yield(x.value());
}

/// Keeps column - row <= diagonal (lower) or >= diagonal (upper).
Rule triangle(const char* keep) {
  return [keep](Builder& b, const Call& c) {
    const Val x = c.tensor("self");
    const std::int64_t rank = b.rank(x);
    if (rank < 2) return b.refuse("a matrix of fewer than two dims");
    const Val row = b.positions(2, 0, b.extent(x, rank - 2)), column = b.positions(2, 1, b.extent(x, rank - 1));
    const Val inside = b(keep, b("sub", column, row), Operand(Arg{c.integer("diagonal", 0)}));
    c.yield(b("where", {inside, b.compute(x, b.dtype(x)), 0}));
  };
}

void one_hot(Builder& b, const Call& c) {
  const std::int64_t classes = c.integer("num_classes", -1);
  if (classes < 1) return b.refuse("as many classes as the data holds");
  const Val index = c.tensor("self");
  c.bound(index, classes);
  const Val hit = b("eq", b.unsqueeze(index, b.rank(index)), b.positions(b.rank(index) + 1, b.rank(index), classes));
  c.yield(b.to(hit, c.out().dtype));
}

}  // namespace

void add_selection(Registry& r) {
  r.add({"where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar"}, where);
  r.add({"masked_fill.Scalar", "masked_fill.Tensor"}, masked_fill);
  r.add({"fill.Scalar", "fill.Tensor"}, fill);
  r.add({"copy"}, copy);
  r.add({"clamp", "clamp.Tensor", "clamp_min", "clamp_min.Tensor", "clamp_max", "clamp_max.Tensor", "clip",
         "clip.Tensor"},
        clamp);
  r.add({"tril"}, triangle("le"));
  r.add({"triu"}, triangle("ge"));
  r.add({"one_hot"}, one_hot);
}

}  // namespace cudaagent::rewrite
