// Dtype conversions, copies, and what does nothing at all in evaluation. Class: exact.
#include "rewrite/registry.h"

namespace cudaagent::rewrite {

namespace {

void identity(Builder& b, const Call& c) { c.yield_alias(c.tensor(c.has("input") ? "input" : "self")); }

/// The captured strides say whether eager copied: a copy whose layout is the operand's may still be one.
void convert(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  const bool may_alias = !c.flag("copy", false) && b.dtype(x) == c.out().dtype && c.captured_type("self") == c.out();
  if (may_alias) return c.yield_alias(x);
  c.yield(b.convert(x, c.out().dtype, false));
}

void copy(Builder& b, const Call& c) { c.yield(b.convert(c.tensor("self"), c.out().dtype, false)); }

void contiguous(Builder& b, const Call& c) {
  if (c.captured_type("self") == c.out()) return c.yield_alias(c.tensor("self"));
  copy(b, c);
}

void dropout(Builder& b, const Call& c) {
  if (c.flag("train", false) && c.number("p", 0.5) != 0) return b.refuse("random in training");
  identity(b, c);
}

void native_dropout(Builder& b, const Call& c) {
  if (c.flag("train", true)) return b.refuse("random in training");
  c.yield(0, b.copy(c.tensor("input")));
  if (c.used(1)) c.yield(1, b.full(c.out(1).dims, DType::b8, Arg{true}));
}

}  // namespace

void add_conversions(Registry& r) {
  r.add({"detach", "alias", "positive", "conj", "conj_physical", "resolve_conj", "resolve_neg", "real", "lift_fresh"},
        identity);
  r.add({"to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as"}, convert);
  r.add({"_to_copy", "clone", "lift_fresh_copy", "detach_copy", "alias_copy"}, copy);
  r.add({"contiguous"}, contiguous);
  r.add({"dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"}, dropout);
  r.add({"native_dropout"}, native_dropout);
}

}  // namespace cudaagent::rewrite
