// Losses against class indices. The gather is a one-hot select, sum(where(position == target, x, 0)), so that it fuses
// with the softmax before it. Class: reassociating.
#include "rewrite/elementwise.h"
#include "rewrite/reduction.h"

namespace cudaagent::rewrite {

namespace {

/// What every loss over classes needs of its target: which class each sample has, and which samples count.
struct Classes {
  std::int64_t dim = 0;  ///< the dim of x that runs over the classes
  std::int64_t count = 0;
  Val hit;    ///< [samples, classes]: position == target
  Val valid;  ///< [samples]: target != ignore_index
  Val target;
};

Classes classes_of(Builder& b, const Call& c, Val x) {
  Classes classes;
  classes.dim = b.rank(x) > 1 ? 1 : 0;
  classes.count = b.extent(x, classes.dim);
  classes.target = b.to(c.tensor("target"), DType::i64);
  c.bound(classes.target, classes.count);
  classes.hit = b("eq", b.positions(b.rank(x), classes.dim, classes.count), b.unsqueeze(classes.target, classes.dim));
  classes.valid = b("ne", classes.target, Operand(Arg{c.integer("ignore_index", -100)}));
  return classes;
}

/// x at the target's class.
Val pick(Builder& b, const Classes& classes, Val x) {
  return sum(b, b("where", {classes.hit, x, 0}), {classes.dim}, false);
}

/// The weight vector laid along the class dim of x.
Val class_weight(Builder& b, const Call& c, const Classes& classes, Val x) {
  Dims shape(static_cast<std::size_t>(b.rank(x)), 1);
  shape.at(static_cast<std::size_t>(classes.dim)) = classes.count;
  return b.reshape(b.to(c.tensor("weight"), b.dtype(x)), shape);
}

/// Each sample's share of the mean's denominator: its class weight, zero where it is ignored.
Val sample_weight(Builder& b, const Call& c, const Classes& classes, Val x) {
  if (!c.has("weight")) return b.to(classes.valid, b.dtype(x));
  return b("where", {classes.valid, pick(b, classes, class_weight(b, c, classes, x)), 0});
}

Val total(Builder& b, Val x) { return sum(b, x, b.axes(x, {}), false); }

/// Sum of losses over sum of sample weights: the mean that leaves ignored samples out.
Val reduce_samples(Builder& b, Val loss, Val weight, std::int64_t reduction) {
  if (reduction == 0) return loss;
  return reduction == 2 ? total(b, loss) : b("div", total(b, loss), total(b, weight));
}

/// -log probability at the target's class, weighted, zero where ignored.
Val sample_loss(Builder& b, const Call& c, const Classes& classes, Val picked, Val weight) {
  Val loss = b("neg", picked);
  if (c.has("weight")) loss = b("mul", loss, weight);
  return b("where", {classes.valid, loss, 0});
}

bool well_formed(Builder& b, Val x, Val target) {
  Dims samples = b.dims(x);
  if (samples.empty()) return false;
  samples.erase(samples.begin() + (b.rank(x) > 1 ? 1 : 0));
  return is_integral(b.dtype(target)) && b.dims(target) == samples;
}

void nll_loss(Builder& b, const Call& c) {
  const Val x = b.compute(c.tensor("self"), c.out().dtype);
  if (!well_formed(b, x, c.tensor("target"))) return b.refuse("a target that is not one class a sample");
  const std::int64_t reduction = reduction_of(c);
  const Classes classes = classes_of(b, c, x);
  const Val weight = sample_weight(b, c, classes, x);
  c.yield(0, reduce_samples(b, sample_loss(b, c, classes, pick(b, classes, x), weight), weight, reduction));
  if (c.used(1) && reduction == 0) return b.refuse("the total weight of an unreduced loss");
  if (c.used(1)) c.yield(1, total(b, weight));
}

/// The target is a distribution over the classes.
void cross_entropy_of_probabilities(Builder& b, const Call& c, Val x) {
  const std::int64_t dim = b.rank(x) > 1 ? 1 : 0, reduction = reduction_of(c);
  const auto classes = static_cast<double>(b.extent(x, dim));
  const double smoothing = c.number("label_smoothing", 0);
  Val target = b.compute(c.tensor("target"), c.out().dtype);
  if (smoothing > 0) target = b("add", b("mul", target, 1 - smoothing), smoothing / classes);
  Val terms = b("mul", log_softmax(b, x, dim), target);
  if (c.has("weight")) terms = b("mul", terms, class_weight(b, c, {dim, b.extent(x, dim), {}, {}, {}}, x));
  const Val loss = b("neg", sum(b, terms, {dim}, false));
  if (reduction == 0) return c.yield(loss);
  if (reduction == 2) return c.yield(total(b, loss));
  c.yield(b("div", total(b, loss), b.count(x, b.axes(x, {})) / classes));
}

/// The loss against the uniform distribution, which label smoothing mixes in.
Val smooth_loss(Builder& b, const Call& c, const Classes& classes, Val log_probability) {
  Val terms = log_probability;
  if (c.has("weight")) terms = b("mul", terms, class_weight(b, c, classes, log_probability));
  return b("where", {classes.valid, b("neg", sum(b, terms, {classes.dim}, false)), 0});
}

void cross_entropy(Builder& b, const Call& c) {
  const Val x = b.compute(c.tensor("self"), c.out().dtype);
  const Val target = c.tensor("target");
  if (is_float(b.dtype(target)) && b.dims(target) == b.dims(x) && b.rank(x) > 0) {
    return cross_entropy_of_probabilities(b, c, x);
  }
  if (!well_formed(b, x, target)) return b.refuse("a target that is not one class a sample");
  const Classes classes = classes_of(b, c, x);
  const Val weight = sample_weight(b, c, classes, x);
  const double smoothing = c.number("label_smoothing", 0);
  // The logit is picked in the pass that finds the maximum, rather than the probability in a pass of its own.
  const Val largest = b.reduce("max", x, {classes.dim}, true);
  const Val log_total = b("log", sum(b, b("exp", b("sub", x, largest)), {classes.dim}, true));
  const Val picked =
      b("sub", b("sub", pick(b, classes, x), b.squeeze(largest, classes.dim)), b.squeeze(log_total, classes.dim));
  const Val loss = reduce_samples(b, sample_loss(b, c, classes, picked, weight), weight, reduction_of(c));
  if (smoothing == 0) return c.yield(loss);
  const Val spread = smooth_loss(b, c, classes, b("sub", b("sub", x, largest), log_total));
  const Val smooth = reduce_samples(b, spread, weight, reduction_of(c));
  c.yield(b("add", b("mul", loss, 1 - smoothing), b("mul", smooth, smoothing / static_cast<double>(classes.count))));
}

}  // namespace

void add_class_losses(Registry& r) {
  r.add({"nll_loss", "nll_loss_nd", "nll_loss2d", "nll_loss_forward", "nll_loss2d_forward"}, nll_loss);
  r.add({"cross_entropy_loss"}, cross_entropy);
}

}  // namespace cudaagent::rewrite
