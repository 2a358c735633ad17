#include "codegen/cuda_reduce_geometry.h"

#include <algorithm>
#include <cmath>

namespace cudaagent::codegen::cuda {

using schedule::Body;
using schedule::Inst;
using schedule::InstKind;

namespace {

/// An accumulator in shared memory: at least a word; with the index of argmax and argmin where there is one.
std::int64_t slot_bytes_of(const Body& body, const Inst& reduce) {
  const std::int64_t value = std::max<std::int64_t>(dtype_size(accumulator_dtype(body, reduce)), 4);
  const bool indexed = reduce.reduce == ir::ReduceKind::argmax || reduce.reduce == ir::ReduceKind::argmin;
  const std::int64_t index = body.reduced() >= (std::int64_t{1} << 31) ? 8 : 4;
  return indexed ? 2 * std::max(value, index) : value;
}

}  // namespace

Geometry::Geometry(const Body& body, const ReduceShape& shape, const Target& target)
    : body_(body),
      shape_(shape),
      shared_of_block_(target.shared_bytes()),
      shifted_(is_shifted(body, shape)),
      alike_(shifted_ ? in_phase(body, shape.vector) : std::vector<std::int32_t>{}) {
  if (shape.keep != Keep::shared && shape.keep != Keep::fetched) return;
  const std::size_t axis = vector_axis(body, shape.columns);
  for (std::size_t i = 0; i < body.insts.size(); ++i) {
    const Inst& inst = body.insts[i];
    const auto id = static_cast<std::int32_t>(i);
    if (inst.kind != InstKind::load || !inst.element || inst.access.strides[axis] == 0) continue;
    if (shared_by_rows(body, inst.access)) continue;
    const std::int64_t bytes = shape.vector * dtype_size(inst.dtype);
    // What a copy of its own can bring: a whole vector of 4, 8 or 16 bytes.
    const bool whole = inst.access.strides[axis] == 1 && bytes >= 4 &&
                       (!shifted_ || std::find(alike_.begin(), alike_.end(), id) != alike_.end());
    if (shape.keep == Keep::fetched && !whole) continue;
    shared_offsets_[id] = shared_bytes_;
    const std::int64_t vectors = ceil_div(chunk(shape.cluster), shape.vector);
    shared_bytes_ = round_up(shared_bytes_ + vectors * bytes, 16);
  }
}

std::int64_t Geometry::row_blocks() const {
  return ceil_div(body_.kept(), shape_.columns ? shape_.lanes * shape_.vector : shape_.groups);
}

std::int64_t Geometry::chunk(std::int64_t parts) const {
  return shape_.columns ? ceil_div(body_.reduced(), parts)
                        : ceil_div(body_.reduced() / shape_.vector, parts) * shape_.vector;
}

bool Geometry::ragged_rows() const {
  return body_.kept() % (shape_.columns ? shape_.lanes * shape_.vector : shape_.groups) != 0;
}

std::int64_t Geometry::blocks_per_unit() const {
  const std::int64_t threads = shape_.lanes * shape_.groups;
  if (shape_.keep == Keep::nothing) return 0;
  // 40 registers each, where blocks are large; small ones are too many for their loads to fit in so few.
  if (shared_bytes_ > 0)
    return std::max<std::int64_t>(
        std::min(shared_of_block_ / (shared_bytes_ + (2 << 10)), (threads >= 512 ? 1536 : 1024) / threads), 1);
  // At 64 registers each, two or more blocks share a unit, so that one loads while another stores. Elements with an
  // address of their own (unless vectors share one), and long shares, need more registers.
  const std::int64_t held =
      elements_per_thread(body_, shape_) * (shape_.columns ? shape_.vector : 1) * registers_per_element(body_);
  const bool addressed = shape_.columns || (shape_.vector < 4 && body_.axes.size() > kept_axes(body_) + 1);
  return std::max<std::int64_t>((addressed ? 640 : 1024) / (held > 32 ? 2 : 1) / threads, 1);
}

std::int64_t Geometry::cascade(std::int64_t parts) const {
  const std::int64_t met =
      shape_.columns ? ceil_div(chunk(parts), shape_.groups) : ceil_div(chunk(parts), shape_.lanes * shape_.vector);
  // Equal elements round alike, so that the error of a chain grows with its length.
  if (met <= 16) return 0;
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(met)));
  return round_up(root, shape_.unroll);
}

std::int64_t Geometry::slots() const {
  return shape_.groups * (shape_.columns ? shape_.lanes * shape_.vector : shape_.lanes / 32 * shape_.cluster);
}

std::int64_t Geometry::slot_bytes() const {
  if (!joins_in_shared(shape_.cluster)) return 0;
  std::int64_t bytes = 0;
  for (const Inst& inst : body_.insts)
    if (inst.kind == InstKind::reduce) bytes += slots() * slot_bytes_of(body_, inst);
  return bytes;
}

bool Geometry::joins_in_shared(std::int64_t cluster) const {
  return shape_.columns ? shape_.groups > 1 : shape_.lanes > 32 || cluster > 1;
}

namespace {

/// Empty, or why threads and blocks cannot be laid out so.
std::string misfit_of_layout(const Body& body, const ReduceShape& shape, const Target& target) {
  const std::int64_t threads = shape.lanes * shape.groups;
  if (threads > 1024 || threads % 32 != 0) return "a block has a multiple of 32 threads, at most 1024";
  if (shape.columns && kept_axes(body) == 0) return "there are no columns";
  const bool power = (shape.lanes & (shape.lanes - 1)) == 0;
  if (!shape.columns && (shape.lanes <= 32 ? !power : shape.lanes % 32 != 0))
    return "threads a row are a power of two or a multiple of 32";
  if (shape.cluster > 1 && (!is_sm90(target) || shape.columns || shape.groups != 1 || shape.splits > 1 ||
                            shape.lanes < 32 || shape.cluster > 8))
    return "a cluster takes one row and needs sm_90";
  return "";
}

std::string misfit_of_vectors(const Body& body, const ReduceShape& shape) {
  if (!is_shifted(body, shape))
    return vector_width(body, vector_axis(body, shape.columns), false) % shape.vector ? "vector does not divide" : "";
  const std::int64_t widest = widest_access(body, vector_axis(body, false));
  if ((shape.vector & (shape.vector - 1)) != 0 || shape.vector * widest > 16 || in_phase(body, shape.vector).empty())
    return "vector does not divide, and the rows do not begin alike";
  // The edges of a row are one element a lane.
  if (shape.lanes < 2 * (shape.vector - 1) || body.reduced() < 2 * shape.vector) return "too few lanes for the edges";
  return "";
}

std::string misfit_of_keeping(const Body& body, const ReduceShape& shape, const Target& target) {
  if (shape.keep == Keep::nothing) return "";
  if (body.reduced() == 0) return "an empty row has nothing to keep";
  if (shape.splits > 1) return "nothing lasts from kernel to kernel";
  const std::int64_t held = elements_per_thread(body, shape) * (shape.columns ? shape.vector : 1);
  if (shape.keep == Keep::registers && held > 128) return "the row does not fit in registers";
  if (shape.keep == Keep::registers) return "";
  if (shape.columns || shape.groups != 1) return "shared memory holds one row a block";
  if (shape.keep == Keep::fetched && compute_capability(target) < 80) return "copies into shared memory need sm_80";
  if (Geometry(body, shape, target).shared_offsets().empty()) return "there is nothing to keep in shared memory";
  return "";
}

std::string misfit_of_shared_memory(const Body& body, const ReduceShape& shape, const Target& target) {
  constexpr std::int64_t most_static = 48 << 10, of_the_driver = 1 << 10;
  const Geometry geometry(body, shape, target);
  if (geometry.slot_bytes() > most_static) return "the joins do not fit in static shared memory";
  if (geometry.slot_bytes() + geometry.shared_bytes() + of_the_driver > target.shared_bytes())
    return "the row does not fit in shared memory";
  return "";
}
}  // namespace

Outcome<int> check_shape(const Body& body, const ReduceShape& shape, const Target& target) {
  std::string misfit = misfit_of_layout(body, shape, target);
  if (misfit.empty()) misfit = misfit_of_vectors(body, shape);
  if (misfit.empty()) misfit = misfit_of_keeping(body, shape, target);
  if (misfit.empty()) misfit = misfit_of_shared_memory(body, shape, target);
  if (!misfit.empty()) return Rejection{"codegen", misfit, ""};
  return 0;
}

}  // namespace cudaagent::codegen::cuda
