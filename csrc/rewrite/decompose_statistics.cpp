// Variance and standard deviation, in two passes. Class: reassociating.
#include <algorithm>

#include "rewrite/reduction.h"

namespace cudaagent::rewrite {

Moments moments(Builder& b, Val x, const Dims& dims, double correction) {
  if (b.rank(x) == 0) return moments(b, b.reshape(x, {1}), {0}, correction);
  const Val center = mean(b, x, dims, true);
  const Val centered = b("sub", x, center);
  const double count = std::max(b.count(x, dims) - correction, 0.0);
  return {center, centered, b("div", sum(b, b("mul", centered, centered), dims, true), count)};
}

namespace {

/// 1 unless the call says otherwise, in either of torch's two ways.
double correction(const Call& c) {
  if (c.has("unbiased")) return c.flag("unbiased", true) ? 1 : 0;
  return c.number("correction", 1);
}

/// Variance (or its root) as output 0; the mean, when asked for, as output 1.
Rule spread(bool root, bool with_mean) {
  return [=](Builder& b, const Call& c) {
    const Val x = b.compute(c.tensor("self"), c.out().dtype);
    const Moments m = moments(b, x, b.axes(x, c.ints("dim")), correction(c));
    c.yield(0, b.reshape(root ? b("sqrt", m.variance) : m.variance, c.out().dims));
    if (with_mean && c.used(1)) c.yield(1, b.reshape(m.mean, c.out(1).dims));
  };
}

}  // namespace

void add_statistics(Registry& r) {
  r.add({"var", "var.dim", "var.correction"}, spread(false, false));
  r.add({"std", "std.dim", "std.correction"}, spread(true, false));
  r.add({"var_mean", "var_mean.dim", "var_mean.correction"}, spread(false, true));
  r.add({"std_mean", "std_mean.dim", "std_mean.correction"}, spread(true, true));
}

}  // namespace cudaagent::rewrite
