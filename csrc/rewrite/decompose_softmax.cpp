// Softmax and its logarithms, shifted by the row's largest element. Class: reassociating.
#include <limits>

#include "rewrite/reduction.h"

namespace cudaagent::rewrite {

Val log_softmax(Builder& b, Val x, std::int64_t dim) {
  const Val shifted = b("sub", x, b.reduce("max", x, {dim}, true));
  return b("sub", shifted, b("log", sum(b, b("exp", shifted), {dim}, true)));
}

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

Val softmax(Builder& b, Val x, std::int64_t dim) {
  const Val powers = b("exp", b("sub", x, b.reduce("max", x, {dim}, true)));
  return b("div", powers, sum(b, powers, {dim}, true));
}

/// Rows of which nothing is left (all -inf, a fully masked row of attention) are zero.
Val safe_softmax(Builder& b, Val x, std::int64_t dim) {
  const Val empty = b("eq", b.reduce("max", x, {dim}, true), -inf);
  return b("where", {empty, 0, softmax(b, x, dim)});
}

Rule along_dim(Val (*body)(Builder&, Val, std::int64_t)) {
  return [body](Builder& b, const Call& c) {
    Val x = b.compute(c.tensor("self"), c.out().dtype);
    const std::int64_t dim = b.axis(c.integer("dim", 0), b.rank(x));
    if (b.rank(x) > 0) return c.yield(body(b, x, dim));
    c.yield(b.reshape(body(b, b.reshape(x, {1}), 0), {}));
  };
}

/// An infinite maximum is not subtracted: inf - inf would be NaN where the answer is the infinity.
void logsumexp(Builder& b, const Call& c) {
  Val x = b.compute(c.tensor("self"), c.out().dtype);
  if (b.rank(x) == 0) x = b.reshape(x, {1});
  const Dims dims = b.axes(x, c.ints("dim"));
  const Val largest = b.reduce("max", x, dims, true);
  const Val shift = b("where", {b("isinf", largest), 0, largest});
  const Val total = sum(b, b("exp", b("sub", x, shift)), dims, true);
  c.yield(b.reshape(b("add", b("log", total), shift), c.out().dims));
}

}  // namespace

void add_softmax(Registry& r) {
  r.add({"softmax.int", "_softmax", "special_softmax"}, along_dim(softmax));
  r.add({"_safe_softmax"}, along_dim(safe_softmax));
  r.add({"log_softmax.int", "_log_softmax", "special_log_softmax"}, along_dim(log_softmax));
  r.add({"logsumexp", "special_logsumexp"}, logsumexp);
}

}  // namespace cudaagent::rewrite
