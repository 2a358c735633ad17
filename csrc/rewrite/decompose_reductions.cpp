// Sums, products, extrema and their indices. Class: reassociating (sums run in another order than eager's).
#include "rewrite/elementwise.h"
#include "rewrite/reduction.h"

namespace cudaagent::rewrite {

Val sum(Builder& b, Val x, const Dims& dims, bool keepdim) { return b.reduce("sum", x, dims, keepdim); }

Val mean(Builder& b, Val x, const Dims& dims, bool keepdim) {
  return b("div", sum(b, x, dims, keepdim), b.count(x, dims));
}

namespace {

bool keepdim(const Call& c) { return c.flag("keepdim", false); }

/// The operand in the type that a result of the captured dtype is accumulated in.
Val accumulated(Builder& b, const Call& c) { return b.compute(c.tensor("self"), c.out().dtype); }

Rule total(const char* kind) {
  return [kind](Builder& b, const Call& c) {
    const Val x = accumulated(b, c);
    c.yield(b.reduce(kind, x, b.axes(x, c.ints("dim")), keepdim(c)));
  };
}

void mean_rule(Builder& b, const Call& c) {
  if (!is_float(c.out().dtype)) return b.refuse("a mean of integers");
  const Val x = accumulated(b, c);
  c.yield(mean(b, x, b.axes(x, c.ints("dim")), keepdim(c)));
}

/// Sum over what is not NaN.
void nansum(Builder& b, const Call& c) {
  Val x = accumulated(b, c);
  if (is_float(b.dtype(x))) x = b("where", {b("isnan", x), 0, x});
  c.yield(sum(b, x, b.axes(x, c.ints("dim")), keepdim(c)));
}

Val in_own_type(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  return b.compute(x, b.dtype(x));
}

Rule extremum(const char* kind) {
  return [kind](Builder& b, const Call& c) {
    const Val x = in_own_type(b, c);
    c.yield(b.reduce(kind, x, b.axes(x, c.ints("dim")), keepdim(c)));
  };
}

void aminmax(Builder& b, const Call& c) {
  const Val x = in_own_type(b, c);
  const Dims dims = b.axes(x, c.ints("dim"));
  c.yield(0, b.reduce("min", x, dims, keepdim(c)));
  c.yield(1, b.reduce("max", x, dims, keepdim(c)));
}

/// The position of the first extreme element; bool is ordered as 0 and 1.
Val position(Builder& b, Val x, const std::string& kind, std::int64_t dim, bool keep) {
  if (b.dtype(x) == DType::b8) x = b.to(x, DType::u8);
  return b.reduce("arg" + kind, x, {dim}, keep);
}

Rule extremum_along(const char* kind) {
  return [kind](Builder& b, const Call& c) {
    const Val x = in_own_type(b, c);
    const std::int64_t dim = b.axis(c.integer("dim", 0), b.rank(x));
    if (c.used(0)) c.yield(0, b.reduce(kind, x, {dim}, keepdim(c)));
    if (c.used(1)) c.yield(1, position(b, x, kind, dim, keepdim(c)));
  };
}

/// Without a dim the tensor is flattened.
Rule argument(const char* kind) {
  return [kind](Builder& b, const Call& c) {
    const Val x = in_own_type(b, c);
    if (c.has("dim")) {
      return c.yield(position(b, x, kind, b.axis(c.integer("dim", 0), b.rank(x)), keepdim(c)));
    }
    const Val flat = b.reshape(x, {b.type(x).numel()});
    c.yield(b.reshape(position(b, flat, kind, 0, false), c.out().dims));
  };
}

Rule logical(const char* kind) {
  return [kind](Builder& b, const Call& c) {
    const Val x = b.to(c.tensor("self"), DType::b8);
    c.yield(b.reduce(kind, x, b.axes(x, c.ints("dim")), keepdim(c)));
  };
}

void count_nonzero(Builder& b, const Call& c) {
  const Val x = b.to(b.to(c.tensor("self"), DType::b8), DType::i64);
  c.yield(sum(b, x, b.axes(x, c.ints("dim")), false));
}

/// To one cell per channel a pool is the mean over the spatial dims.
Rule global_pool(std::size_t spatial) {
  return [spatial](Builder& b, const Call& c) {
    if (c.ints("output_size") != Dims(spatial, 1) && c.ints("output_size") != Dims{1}) {
      return b.refuse("an adaptive pool to more than one cell");
    }
    const Val x = accumulated(b, c);
    Dims dims;
    for (std::size_t i = spatial; i > 0; --i) dims.push_back(b.rank(x) - static_cast<std::int64_t>(i));
    c.yield(mean(b, x, dims, true));
  };
}

}  // namespace

void add_reductions(Registry& r) {
  r.add({"sum", "sum.dim_IntList"}, total("sum"));
  r.add({"prod", "prod.dim_int"}, total("prod"));
  r.add({"mean", "mean.dim"}, mean_rule);
  r.add({"nansum"}, nansum);
  r.add({"amax", "max"}, extremum("max"));
  r.add({"amin", "min"}, extremum("min"));
  r.add({"aminmax"}, aminmax);
  r.add({"max.dim"}, extremum_along("max"));
  r.add({"min.dim"}, extremum_along("min"));
  r.add({"argmax"}, argument("max"));
  r.add({"argmin"}, argument("min"));
  r.add({"any", "any.dim", "any.dims"}, logical("any"));
  r.add({"all", "all.dim", "all.dims"}, logical("all"));
  r.add({"count_nonzero", "count_nonzero.dim_IntList"}, count_nonzero);
  r.add({"adaptive_avg_pool1d"}, global_pool(1));
  r.add({"adaptive_avg_pool2d", "_adaptive_avg_pool2d"}, global_pool(2));
  r.add({"adaptive_avg_pool3d", "_adaptive_avg_pool3d"}, global_pool(3));
}

}  // namespace cudaagent::rewrite
