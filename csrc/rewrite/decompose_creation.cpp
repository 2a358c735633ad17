// Tensors made of nothing. Class: exact.
#include <cmath>

#include "rewrite/promote.h"
#include "rewrite/registry.h"

namespace cudaagent::rewrite {

namespace {

Rule filled(double value) {
  return [value](Builder& b, const Call& c) { c.yield(b.full(c.out().dims, c.out().dtype, Arg{value})); };
}

Rule filled_from(const char* name) {
  return [name](Builder& b, const Call& c) {
    c.yield(b.full(c.out().dims, c.out().dtype, c.scalar(name, Arg{std::int64_t{0}})));
  };
}

bool whole(const Arg& number) { return !number.is<double>() || number.as<double>() == std::trunc(number.as<double>()); }

/// Whole steps are counted in integers; others in the compute type, as eager does.
void arange(Builder& b, const Call& c) {
  const Arg start = c.scalar("start", Arg{std::int64_t{0}}), step = c.scalar("step", Arg{std::int64_t{1}});
  const DType result = c.out().dtype;
  if (result == DType::b8) return b.refuse("a range of bool");
  const bool integers =
      is_integral(result) || (whole(start) && whole(step) && fits(start, DType::i64) && fits(step, DType::i64));
  if (is_integral(result) && (!whole(start) || !whole(step))) return b.refuse("an integer range with a broken step");
  const DType counted = integers ? DType::i64 : compute_dtype(result);
  c.yield(b.iota(c.out().dims, counted, 0, start, step));
}

void eye(Builder& b, const Call& c) {
  const Dims& dims = c.out().dims;
  const Val hit = b("eq", b.positions(2, 0, dims[0]), b.positions(2, 1, dims[1]));
  c.yield(b.to(hit, c.out().dtype));
}

}  // namespace

void add_creation(Registry& r) {
  r.add({"zeros", "zeros_like", "new_zeros"}, filled(0));
  r.add({"ones", "ones_like", "new_ones"}, filled(1));
  r.add({"full", "full_like", "new_full"}, filled_from("fill_value"));
  r.add({"scalar_tensor"}, filled_from("s"));
  r.add({"arange", "arange.start", "arange.start_step"}, arange);
  r.add({"eye", "eye.m"}, eye);
}

}  // namespace cudaagent::rewrite
