// Layer, group, instance and RMS normalisation. Class: reassociating.
#include <limits>

#include "rewrite/reduction.h"

namespace cudaagent::rewrite {

namespace {

Dims last_dims(Builder& b, Val x, std::size_t count) {
  Dims dims;
  for (std::int64_t i = b.rank(x) - static_cast<std::int64_t>(count); i < b.rank(x); ++i) dims.push_back(i);
  return dims;
}

/// Output 0 normalised over `dims`; outputs 1 and 2, where in use, the mean and the inverse deviation.
struct Normalised {
  Val x, mean, inverse_deviation;
};

/// Weight or bias, laid out as `shape` against the input.
Val parameter(Builder& b, const Call& c, std::string_view name, const Dims& shape, DType common) {
  const Val value = b.compute(c.tensor(name), common);
  return b.dims(value) != shape ? b.reshape(value, shape) : value;
}

/// x * weight + bias, either of which may be missing; `shape` is how they lie against x.
Val affine(Builder& b, const Call& c, Val x, const Dims& shape, DType common) {
  for (const auto& [name, fn] : {std::pair("weight", "mul"), std::pair("bias", "add")})
    if (c.has(name)) x = b(fn, x, parameter(b, c, name, shape, common));
  return x;
}

/// The same of a normalised x, as one scale and one offset a channel. Beside an infinite weight the sum has NaN where
/// x and the mean have one sign, as eager's has, which computes it so.
Val scaled(Builder& b, const Call& c, Val x, const Normalised& n, const Dims& shape, DType common) {
  const Val scale = b("mul", n.inverse_deviation, parameter(b, c, "weight", shape, common));
  const Val against = b("neg", n.mean);
  const Val offset =
      c.has("bias") ? b("fma", against, scale, parameter(b, c, "bias", shape, common)) : b("mul", against, scale);
  return b("fma", x, scale, offset);
}

Normalised normalise(Builder& b, Val x, const Dims& dims, double eps) {
  const Moments m = moments(b, x, dims, 0);
  const Val inverse = b("rsqrt", b("add", m.variance, eps));
  return {b("mul", m.centered, inverse), m.mean, inverse};
}

void yield_statistics(Builder& b, const Call& c, const Normalised& n) {
  if (c.used(1)) c.yield(1, b.reshape(n.mean, c.out(1).dims));
  if (c.used(2)) c.yield(2, b.reshape(n.inverse_deviation, c.out(2).dims));
}

DType dtype_of(Builder& b, const Call& c) { return b.dtype(c.tensor("input")); }

void layer_norm(Builder& b, const Call& c) {
  const Dims shape = c.ints("normalized_shape");
  const Val x = b.compute(c.tensor("input"), dtype_of(b, c));
  if (shape.empty() || b.rank(x) < static_cast<std::int64_t>(shape.size()))
    return b.refuse("nothing to normalise over");
  const Normalised n = normalise(b, x, last_dims(b, x, shape.size()), c.number("eps", 1e-5));
  c.yield(0, affine(b, c, n.x, shape, dtype_of(b, c)));
  yield_statistics(b, c, n);
}

/// One reshape splits the channels into [group, channels of a group]; the affine part is applied there too.
void group_norm(Builder& b, const Call& c, std::int64_t groups) {
  const Val x = b.compute(c.tensor("input"), dtype_of(b, c));
  if (b.rank(x) < 2 || groups < 1 || b.extent(x, 1) % groups != 0)
    return b.refuse("channels that do not split into groups");
  Dims split = b.dims(x), shape(static_cast<std::size_t>(b.rank(x)) + 1, 1);
  split[1] /= groups;
  split.insert(split.begin() + 1, groups);
  shape[1] = groups;
  shape[2] = split[2];
  const Val spread = b.reshape(x, split);
  const Normalised n = normalise(b, spread, last_dims(b, spread, split.size() - 2), c.number("eps", 1e-5));
  // On CUDA eager has a kernel of its own for channels of one element.
  const bool single = b.count(spread, last_dims(b, spread, split.size() - 3)) == 1;
  const bool fused = c.has("weight") && !(single && b.device().type == DeviceType::cuda);
  const DType common = dtype_of(b, c);
  const Val y = fused ? scaled(b, c, spread, n, shape, common) : affine(b, c, n.x, shape, common);
  c.yield(0, b.reshape(y, b.dims(x)));
  yield_statistics(b, c, n);
}

/// Over the spatial dims of each channel; running statistics are neither read nor updated here.
void instance_norm(Builder& b, const Call& c) {
  if (!c.flag("use_input_stats", true)) return b.refuse("running statistics of an instance norm");
  if (c.has("running_mean") || c.has("running_var")) return b.refuse("running statistics that are updated");
  const Val x = b.compute(c.tensor("input"), dtype_of(b, c));
  if (b.rank(x) < 3) return b.refuse("no spatial dims");
  Dims shape(static_cast<std::size_t>(b.rank(x)), 1);
  shape[1] = b.extent(x, 1);
  const Normalised n = normalise(b, x, last_dims(b, x, shape.size() - 2), c.number("eps", 1e-5));
  const DType common = dtype_of(b, c);
  c.yield(c.has("weight") ? scaled(b, c, x, n, shape, common) : affine(b, c, n.x, shape, common));
}

/// Without an eps torch takes the spacing of the type it computes in.
double default_eps(DType computed) {
  return computed == DType::f64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
}

void rms_norm(Builder& b, const Call& c) {
  const Dims shape = c.ints("normalized_shape");
  const Val x = b.compute(c.tensor("input"), dtype_of(b, c));
  if (shape.empty() || b.rank(x) < static_cast<std::int64_t>(shape.size()))
    return b.refuse("nothing to normalise over");
  const Val square = mean(b, b("mul", x, x), last_dims(b, x, shape.size()), true);
  const Val inverse = b("rsqrt", b("add", square, c.number("eps", default_eps(b.dtype(x)))));
  c.yield(0, affine(b, c, b("mul", x, inverse), shape, dtype_of(b, c)));
  if (c.used(1)) c.yield(1, b.reshape(inverse, c.out(1).dims));
}

}  // namespace

void add_norms(Registry& r) {
  r.add({"layer_norm", "native_layer_norm"}, layer_norm);
  r.add({"group_norm"}, [](Builder& b, const Call& c) { group_norm(b, c, c.integer("num_groups", 1)); });
  r.add({"native_group_norm"}, [](Builder& b, const Call& c) { group_norm(b, c, c.integer("group", 1)); });
  r.add({"instance_norm"}, instance_norm);
  r.add({"rms_norm", "_fused_rms_norm"}, rms_norm);
}

}  // namespace cudaagent::rewrite
