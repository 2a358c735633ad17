// Batch normalisation by running statistics: pointwise, a scale and shift per channel. In training it stays extern: its
// statistics span the batch and its buffers move. Class: reassociating.
#include "rewrite/registry.h"

namespace cudaagent::rewrite {

namespace {

double epsilon(const Call& c) { return c.number(c.has("epsilon") ? "epsilon" : "eps", 1e-5); }

void by_running_statistics(Builder& b, const Call& c) {
  const Val input = c.tensor("input");
  const DType common = b.dtype(input);
  const Val x = b.compute(input, common);
  if (b.rank(x) < 2) return b.refuse("no channels");
  if (!c.has("running_mean") || !c.has("running_var")) return b.refuse("statistics of the batch");
  if (c.used(1) || c.used(2)) return b.refuse("saved statistics in use");
  Dims shape(static_cast<std::size_t>(b.rank(x)), 1);
  shape[1] = b.extent(x, 1);
  const auto channel = [&](const char* name) { return b.reshape(b.to(c.tensor(name), compute_dtype(common)), shape); };
  const Val mean = channel("running_mean");
  Val scale = b("reciprocal", b("sqrt", b("add", channel("running_var"), epsilon(c))));
  if (c.has("weight")) scale = b("mul", scale, channel("weight"));
  if (b.device().type == DeviceType::cpu) {
    // Rounded where eager rounds: a channel has one scale and one shift, so that one rounding more is a large share of
    // all there are.
    const Val against = b("neg", mean);
    const Val shift = c.has("bias") ? b("fma", against, scale, channel("bias")) : b("mul", against, scale);
    return c.yield(b("fma", x, scale, shift));
  }
  const Val y = b("mul", b("sub", x, mean), scale);
  c.yield(c.has("bias") ? b("add", y, channel("bias")) : y);
}

void batch_norm(Builder& b, const Call& c) {
  if (c.flag("training", true)) return b.refuse("batch statistics in training");
  by_running_statistics(b, c);
}

}  // namespace

void add_batch_norms(Registry& r) {
  r.add({"batch_norm", "native_batch_norm", "_native_batch_norm_legit"}, batch_norm);
  // What batch_norm is traced to under fake CUDA tensors before torch 2.12; its saved statistics are empty in eval.
  r.add({"cudnn_batch_norm"}, batch_norm);
  r.add({"_native_batch_norm_legit_no_training", "_batch_norm_no_update"}, by_running_statistics);
}

}  // namespace cudaagent::rewrite
