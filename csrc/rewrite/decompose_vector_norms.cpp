// p-norms, distances and cosines. Class: reassociating.
#include <cmath>
#include <limits>

#include "rewrite/elementwise.h"
#include "rewrite/promote.h"
#include "rewrite/reduction.h"

namespace cudaagent::rewrite {

Val vector_norm(Builder& b, Val x, double p, const Dims& dims, bool keepdim) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (p == 2) return b("sqrt", sum(b, b("mul", x, x), dims, keepdim));
  const Val size = b("abs", x);
  if (p == inf) return b.reduce("max", size, dims, keepdim);
  if (p == -inf) return b.reduce("min", size, dims, keepdim);
  if (p == 1) return sum(b, size, dims, keepdim);
  if (p == 0) return sum(b, b.to(b("ne", x, 0), b.dtype(x)), dims, keepdim);
  return b("pow", sum(b, b("pow", size, p), dims, keepdim), 1 / p);
}

namespace {

Rule norm(const char* order) {
  return [order](Builder& b, const Call& c) {
    if (!is_float(c.out().dtype)) return b.refuse("a norm of integers");
    const Val x = b.compute(c.tensor("self"), c.out().dtype);
    c.yield(vector_norm(b, x, c.number(order, 2), b.axes(x, c.ints("dim")), c.flag("keepdim", false)));
  };
}

void frobenius(Builder& b, const Call& c) {
  if (c.has("ord") && c.text("ord", "fro") != "fro") return b.refuse("a nuclear norm");
  const Val x = b.compute(c.tensor(c.has("self") ? "self" : "A"), c.out().dtype);
  Dims dims = c.ints("dim");
  if (dims.empty() && c.has("ord")) dims = {-2, -1};
  c.yield(vector_norm(b, x, 2, b.axes(x, dims), c.flag("keepdim", false)));
}

/// Each side divided by its own norm before the product, as eager does, so that large vectors do not overflow.
void cosine_similarity(Builder& b, const Call& c) {
  Unified u = unify_checked(b, c, {c.operand("x1"), c.operand("x2")});
  Dims joined;
  broadcast_dims(b.dims(u.operands[0].value()), b.dims(u.operands[1].value()), joined);
  const auto rank = static_cast<std::int64_t>(joined.size());
  const std::int64_t dim = b.axis(c.integer("dim", 1), rank);
  if (rank == 0) return b.refuse("a cosine of numbers");
  const auto unit = [&](Val x) {
    if (b.dims(x) != joined) x = b.expand(x, joined);
    return b("div", x, b("max", vector_norm(b, x, 2, {dim}, true), c.number("eps", 1e-8)));
  };
  c.yield(sum(b, b("mul", unit(u.operands[0].value()), unit(u.operands[1].value())), {dim}, false));
}

void pairwise_distance(Builder& b, const Call& c) {
  Unified u = unify_checked(b, c, {c.operand("x1"), c.operand("x2")});
  const Val difference = b("add", b("sub", u.operands[0], u.operands[1]), c.number("eps", 1e-6));
  if (b.rank(difference) == 0) return b.refuse("a distance of numbers");
  c.yield(vector_norm(b, difference, c.number("p", 2), {b.rank(difference) - 1}, c.flag("keepdim", false)));
}

}  // namespace

void add_vector_norms(Registry& r) {
  r.add({"linalg_vector_norm"}, norm("ord"));
  r.add({"norm.Scalar", "norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype", "norm.ScalarOpt_dtype"}, norm("p"));
  r.add({"frobenius_norm.dim", "linalg_matrix_norm.str_ord"}, frobenius);
  r.add({"cosine_similarity"}, cosine_similarity);
  r.add({"pairwise_distance"}, pairwise_distance);
}

}  // namespace cudaagent::rewrite
