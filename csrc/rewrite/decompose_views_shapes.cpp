// Shapes and orders of dims. Class: exact. Where eager gives a view the result may share memory, where it copies not.
#include <algorithm>
#include <numeric>

#include "rewrite/registry.h"

namespace cudaagent::rewrite {

namespace {

/// Whether `type` can be seen in `dims` without moving an element: each run of new dims must cover a run of old dims
/// that lie evenly in memory.
bool viewable(const TensorType& type, const Dims& dims) {
  if (type.numel() == 0) return true;
  std::size_t next = dims.size();
  std::int64_t block = 1, cover = 1, base = 0;
  bool open = false;
  const auto close = [&] {
    while (next > 0 && (cover < block || dims[next - 1] == 1)) cover *= dims[--next];
    return cover == block;
  };
  for (std::size_t i = type.dims.size(); i-- > 0;) {
    if (type.dims[i] == 1) continue;
    if (open && type.strides[i] != base * block) {
      if (!close()) return false;
      block = cover = 1;
      open = false;
    }
    if (!open) base = type.strides[i];
    open = true;
    block *= type.dims[i];
  }
  return close();
}

/// To the captured dims: view, unsqueeze, squeeze, flatten and unflatten differ only in how the caller names them.
void reshape(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  if (c.captured_type("self").dims == c.out().dims) return c.yield_alias(x);
  const Val y = b.reshape(x, c.out().dims);
  viewable(c.captured_type("self"), c.out().dims) ? c.yield_alias(y) : c.yield(y);
}

/// The element type is read anew from the same bytes only when it really changes.
void view_dtype(Builder& b, const Call& c) {
  if (c.dtype("dtype", DType::other) != b.dtype(c.tensor("self"))) return b.refuse("bytes seen as another dtype");
  c.yield_alias(c.tensor("self"));
}

void expand(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  c.yield_alias(b.dims(x) == c.out().dims ? x : b.expand(x, c.out().dims));
}

void broadcast_tensors(Builder& b, const Call& c) {
  const std::vector<Val> given = c.tensors("tensors");
  for (std::size_t k = 0; k < given.size(); ++k) {
    if (!c.used(k)) continue;
    c.yield_alias(k, b.dims(given[k]) == c.out(k).dims ? given[k] : b.expand(given[k], c.out(k).dims));
  }
}

Dims identity_order(std::int64_t rank) {
  Dims order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void permute(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  Dims order = c.ints("dims");
  for (std::int64_t& dim : order) dim = b.axis(dim, b.rank(x));
  Dims sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != identity_order(b.rank(x))) return b.refuse("an order that is not one of all dims");
  c.yield_alias(b.permute(x, order));
}

void swap_dims(Builder& b, const Call& c, std::int64_t first, std::int64_t second) {
  const Val x = c.tensor("self");
  if (b.rank(x) == 0) return c.yield_alias(x);
  Dims order = identity_order(b.rank(x));
  std::swap(order.at(static_cast<std::size_t>(b.axis(first, b.rank(x)))),
            order.at(static_cast<std::size_t>(b.axis(second, b.rank(x)))));
  c.yield_alias(b.permute(x, order));
}

Rule swapping(const char* first, const char* second) {
  return [=](Builder& b, const Call& c) { swap_dims(b, c, c.integer(first, 0), c.integer(second, 0)); };
}

void transpose_matrix(Builder& b, const Call& c) {
  if (b.rank(c.tensor("self")) < 2) return c.yield_alias(c.tensor("self"));
  swap_dims(b, c, -2, -1);
}

void reverse_dims(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  Dims order = identity_order(b.rank(x));
  std::reverse(order.begin(), order.end());
  c.yield_alias(b.permute(x, order));
}

void move_dims(Builder& b, const Call& c) {
  const Val x = c.tensor("self");
  const std::int64_t rank = b.rank(x);
  Dims from = c.ints("source"), to = c.ints("destination");
  if (from.size() != to.size() || rank == 0) return b.refuse("sources and destinations that do not pair");
  Dims order(static_cast<std::size_t>(rank), -1), rest = identity_order(rank);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t source = b.axis(from[i], rank);
    order.at(static_cast<std::size_t>(b.axis(to[i], rank))) = source;
    rest.erase(std::remove(rest.begin(), rest.end(), source), rest.end());
  }
  auto next = rest.begin();
  for (std::int64_t& dim : order) {
    if (dim < 0 && next != rest.end()) dim = *next++;
  }
  c.yield_alias(b.permute(x, order));
}

}  // namespace

void add_shapes(Registry& r) {
  r.add({"view", "reshape", "_unsafe_view", "_reshape_alias", "flatten.using_ints", "unflatten.int", "squeeze",
         "squeeze.dim", "squeeze.dims", "unsqueeze", "view_as", "reshape_as", "ravel", "atleast_1d", "atleast_2d",
         "atleast_3d"},
        reshape);
  r.add({"view.dtype"}, view_dtype);
  r.add({"broadcast_tensors"}, broadcast_tensors);
  r.add({"expand", "expand_as", "broadcast_to"}, expand);
  r.add({"permute"}, permute);
  r.add({"transpose.int"}, swapping("dim0", "dim1"));
  r.add({"swapaxes"}, swapping("axis0", "axis1"));
  r.add({"swapdims"}, swapping("dim0", "dim1"));
  r.add({"t", "mT", "mH", "adjoint", "matrix_H"}, transpose_matrix);
  r.add({"numpy_T"}, reverse_dims);
  r.add({"movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist"}, move_dims);
}

}  // namespace cudaagent::rewrite
