// Rearrangements that eager copies: flips, repeats, shuffles. Class: exact.
#include "rewrite/registry.h"

namespace cudaagent::rewrite {

namespace {

void flip_dims(Builder& b, const Call& c, Dims dims) {
  Val x = c.tensor("self");
  if (dims.empty() || b.type(x).numel() == 0) return c.yield(x);
  for (const std::int64_t dim : b.axes(x, std::move(dims)))
    x = b.slice(x, dim, b.extent(x, dim) - 1, -1, b.extent(x, dim));
  c.yield(x);
}

/// Each dim of extent d becomes [times, d] by an expansion, and the pair one dim again.
void tile(Builder& b, const Call& c, Dims times) {
  Val x = c.tensor("self");
  Dims dims = b.dims(x);
  while (dims.size() < times.size()) dims.insert(dims.begin(), 1);
  while (times.size() < dims.size()) times.insert(times.begin(), 1);
  Dims split, spread, joined;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    split.insert(split.end(), {1, dims[i]});
    spread.insert(spread.end(), {times[i], dims[i]});
    joined.push_back(times[i] * dims[i]);
  }
  c.yield(b.reshape(b.expand(b.reshape(x, split), spread), joined));
}

void repeat_interleave(Builder& b, const Call& c) {
  Val x = c.tensor("self");
  if (!c.has("dim")) x = b.reshape(x, {b.type(x).numel()});
  if (b.rank(x) == 0) return b.refuse("a repetition of a 0-dim tensor");
  const std::int64_t dim = b.axis(c.integer("dim", 0), b.rank(x));
  Dims spread = b.dims(x);
  spread.insert(spread.begin() + dim + 1, c.integer("repeats", 1));
  c.yield(b.reshape(b.expand(b.unsqueeze(x, dim + 1), spread), c.out().dims));
}

/// [.., c*r*r, h, w] -> [.., c, h*r, w*r]
void pixel_shuffle(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  const std::int64_t r = c.integer("upscale_factor", 1), rank = b.rank(x);
  if (rank < 3 || r < 1 || b.extent(x, rank - 3) % (r * r) != 0) return b.refuse("channels that do not make pixels");
  std::int64_t batch = 1;
  for (std::int64_t i = 0; i < rank - 3; ++i) batch *= b.extent(x, i);
  const Val split =
      b.reshape(x, {batch, b.extent(x, rank - 3) / (r * r), r, r, b.extent(x, rank - 2), b.extent(x, rank - 1)});
  c.yield(b.reshape(b.permute(split, {0, 1, 4, 2, 5, 3}), c.out().dims));
}

/// [.., c, h*r, w*r] -> [.., c*r*r, h, w]
void pixel_unshuffle(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  const std::int64_t r = c.integer("downscale_factor", 1), rank = b.rank(x);
  if (rank < 3 || r < 1 || b.extent(x, rank - 2) % r != 0 || b.extent(x, rank - 1) % r != 0) {
    return b.refuse("an image that does not split");
  }
  std::int64_t outer = 1;
  for (std::int64_t i = 0; i < rank - 2; ++i) outer *= b.extent(x, i);
  const Val split = b.reshape(x, {outer, b.extent(x, rank - 2) / r, r, b.extent(x, rank - 1) / r, r});
  c.yield(b.reshape(b.permute(split, {0, 2, 4, 1, 3}), c.out().dims));
}

void channel_shuffle(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  const std::int64_t groups = c.integer("groups", 1);
  if (b.rank(x) < 3 || groups < 1 || b.extent(x, 1) % groups != 0)
    return b.refuse("channels that do not split into groups");
  const std::int64_t channels = b.extent(x, 1),
                     inner = b.type(x).numel() / std::max<std::int64_t>(b.extent(x, 0) * channels, 1);
  const Val split = b.reshape(x, {b.extent(x, 0), groups, channels / groups, inner});
  c.yield(b.reshape(b.permute(split, {0, 2, 1, 3}), c.out().dims));
}

}  // namespace

void add_repeats(Registry& r) {
  r.add({"flip"}, [](Builder& b, const Call& c) { flip_dims(b, c, c.ints("dims")); });
  r.add({"fliplr"}, [](Builder& b, const Call& c) { flip_dims(b, c, {1}); });
  r.add({"flipud"}, [](Builder& b, const Call& c) { flip_dims(b, c, {0}); });
  r.add({"repeat"}, [](Builder& b, const Call& c) { tile(b, c, c.ints("repeats")); });
  r.add({"tile"}, [](Builder& b, const Call& c) { tile(b, c, c.ints("dims")); });
  r.add({"repeat_interleave.self_int"}, repeat_interleave);
  r.add({"pixel_shuffle"}, pixel_shuffle);
  r.add({"pixel_unshuffle"}, pixel_unshuffle);
  r.add({"channel_shuffle"}, channel_shuffle);
  r.add({"expand_copy"}, [](Builder& b, const Call& c) { c.yield(b.expand(c.tensor("self"), c.out().dims)); });
  r.add({"view_copy"}, [](Builder& b, const Call& c) { c.yield(b.reshape(c.tensor("self"), c.out().dims)); });
}

}  // namespace cudaagent::rewrite
