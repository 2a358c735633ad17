// Parts of a tensor. Class: exact.
#include <algorithm>

#include "rewrite/registry.h"

namespace cudaagent::rewrite {

namespace {

/// The dim a call slices, or nothing after a refusal: a 0-dim tensor has none.
bool sliced_dim(Builder& b, const Call& c, std::int64_t& dim) {
  const Val x = c.tensor("self");
  dim = b.axis(c.integer("dim", 0), b.rank(x));
  if (b.rank(x) == 0) b.refuse("a slice of a 0-dim tensor");
  return b.rank(x) > 0;
}

std::int64_t wrapped(std::int64_t index, std::int64_t extent) {
  return std::clamp<std::int64_t>(index < 0 ? index + extent : index, 0, extent);
}

void slice(Builder& b, const Call& c) {
  std::int64_t dim = 0;
  if (!sliced_dim(b, c, dim)) return;
  const Val x = c.tensor("self");
  const std::int64_t start = wrapped(c.integer("start", 0), b.extent(x, dim)), step = c.integer("step", 1);
  c.yield_alias(b.slice(x, dim, start, step, c.out().dims.at(static_cast<std::size_t>(dim))));
}

void narrow(Builder& b, const Call& c) {
  std::int64_t dim = 0;
  if (!sliced_dim(b, c, dim)) return;
  const Val x = c.tensor("self");
  c.yield_alias(b.slice(x, dim, wrapped(c.integer("start", 0), b.extent(x, dim)), 1, c.integer("length", 0)));
}

Val one_of(Builder& b, Val x, std::int64_t dim, std::int64_t index) {
  return b.squeeze(b.slice(x, dim, index, 1, 1), dim);
}

void select(Builder& b, const Call& c) {
  std::int64_t dim = 0;
  if (!sliced_dim(b, c, dim)) return;
  const Val x = c.tensor("self");
  const std::int64_t index = c.integer("index", 0);
  c.yield_alias(one_of(b, x, dim, index < 0 ? index + b.extent(x, dim) : index));
}

void unbind(Builder& b, const Call& c) {
  std::int64_t dim = 0;
  if (!sliced_dim(b, c, dim)) return;
  for (std::size_t k = 0; k < c.outputs(); ++k) {
    if (c.used(k)) c.yield_alias(k, one_of(b, c.tensor("self"), dim, static_cast<std::int64_t>(k)));
  }
}

/// Parts that follow one another, each as long as `length(k)` says.
void parts(Builder& b, const Call& c, const std::function<std::int64_t(std::size_t, std::int64_t)>& length) {
  std::int64_t dim = 0;
  if (!sliced_dim(b, c, dim)) return;
  const Val x = c.tensor("self");
  const std::int64_t extent = b.extent(x, dim);
  std::int64_t start = 0;
  for (std::size_t k = 0; k < c.outputs(); ++k) {
    const std::int64_t size = std::clamp<std::int64_t>(length(k, extent), 0, extent - start);
    if (c.used(k)) c.yield_alias(k, b.slice(x, dim, start, 1, size));
    start += size;
  }
}

void split(Builder& b, const Call& c) {
  const std::int64_t size = c.integer("split_size", 1);
  parts(b, c, [size](std::size_t, std::int64_t extent) { return size == 0 ? extent : size; });
}

void split_sizes(Builder& b, const Call& c) {
  Dims sizes = c.ints(c.has("split_sizes") ? "split_sizes" : "split_size");
  sizes.resize(std::max(sizes.size(), c.outputs()), 0);
  parts(b, c, [sizes](std::size_t k, std::int64_t) { return sizes[k]; });
}

void chunk(Builder& b, const Call& c) {
  const std::int64_t chunks = std::max<std::int64_t>(c.integer("chunks", 1), 1);
  parts(b, c, [chunks](std::size_t, std::int64_t extent) { return (extent + chunks - 1) / chunks; });
}

/// The first extent % sections parts are one longer than the rest.
void tensor_split_sections(Builder& b, const Call& c) {
  const std::int64_t sections = std::max<std::int64_t>(c.integer("sections", 1), 1);
  parts(b, c, [sections](std::size_t k, std::int64_t extent) {
    return extent / sections + (static_cast<std::int64_t>(k) < extent % sections ? 1 : 0);
  });
}

/// One element less in `dim`: each minus the one before it. Of booleans: whether they differ.
Val step_between(Builder& b, Val x, std::int64_t dim) {
  const std::int64_t extent = std::max<std::int64_t>(b.extent(x, dim) - 1, 0);
  const Val later = b.slice(x, dim, std::min<std::int64_t>(1, b.extent(x, dim)), 1, extent);
  const Val earlier = b.slice(x, dim, 0, 1, extent);
  return b(b.dtype(x) == DType::b8 ? "ne" : "sub", later, earlier);
}

void diff(Builder& b, const Call& c) {
  if (c.has("prepend") || c.has("append")) return b.refuse("diff of a tensor that is lengthened first");
  const Val self = c.tensor("self");
  if (b.rank(self) == 0) return b.refuse("a diff of a 0-dim tensor");
  const std::int64_t dim = b.axis(c.integer("dim", -1), b.rank(self));
  // Half types round after every step, so several steps are not one sum.
  const std::int64_t times = std::min(c.integer("n", 1), b.extent(self, dim));
  if (times != 1) return b.refuse("a diff of another order than 1");
  c.yield(step_between(b, b.compute(self, b.dtype(self)), dim));
}

}  // namespace

void add_slices(Registry& r) {
  r.add({"slice.Tensor"}, slice);
  r.add({"narrow"}, narrow);
  r.add({"select.int"}, select);
  r.add({"unbind.int"}, unbind);
  r.add({"split.Tensor", "unsafe_split.Tensor"}, split);
  r.add({"split.sizes", "split_with_sizes", "unsafe_split_with_sizes"}, split_sizes);
  r.add({"chunk", "unsafe_chunk"}, chunk);
  r.add({"diff"}, diff);
  r.add({"tensor_split.sections"}, tensor_split_sections);
}

}  // namespace cudaagent::rewrite
