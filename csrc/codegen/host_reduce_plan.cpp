#include <algorithm>

#include "codegen/host_layout.h"
#include "codegen/host_reduce.h"

namespace cudaagent::codegen {

using schedule::Body;
using schedule::Inst;
using schedule::InstKind;

std::vector<std::size_t> HostReduction::outer_kept() const {
  std::vector<std::size_t> axes;
  for (std::size_t a = 0; a < kept_axes(body); ++a)
    if (!columns || a != vector_axis) axes.push_back(a);
  return axes;
}

std::vector<std::size_t> HostReduction::reduced_loops() const {
  std::vector<std::size_t> axes;
  for (std::size_t a = kept_axes(body); a < body.axes.size(); ++a)
    if (columns || a != vector_axis) axes.push_back(a);
  return axes;
}

std::int64_t HostReduction::tiles() const { return columns ? (body.axes[vector_axis].extent + tile - 1) / tile : 1; }

std::int64_t HostReduction::tasks() const {
  std::int64_t count = tiles();
  for (const std::size_t a : outer_kept()) count *= body.axes[a].extent;
  return count;
}

std::optional<std::size_t> reduction_vector_axis(const Body& body, bool columns) {
  if (columns) return vector_axis(body, AxisGroup::kept);
  const bool ordered = std::any_of(body.insts.begin(), body.insts.end(), [](const Inst& inst) {
    return inst.kind == InstKind::reduce &&
           (inst.reduce == ir::ReduceKind::argmax || inst.reduce == ir::ReduceKind::argmin);
  });
  if (ordered || body.reduced() < 2) return body.axes.size() - 1;
  return vector_axis(body, AxisGroup::reduced);
}

bool prefers_columns(const Body& body) {
  const std::optional<std::size_t> kept = vector_axis(body, AxisGroup::kept);
  if (!kept || body.axes[*kept].extent < 2) return false;
  const std::optional<std::size_t> any = vector_axis(body, AxisGroup::any);
  return any && !body.axes[*any].reduced;
}

std::int64_t column_tile(const Body& body, std::size_t axis, std::int64_t lanes, int units) {
  constexpr std::int64_t most = 512, slab_elements = 128 * 1024;
  std::int64_t tile = most;
  if (body.stages > 2)
    tile = std::min(tile, std::max(slab_elements / std::max<std::int64_t>(body.reduced(), 1), 4 * lanes));
  const std::int64_t extent = body.axes[axis].extent;
  const std::int64_t outer = std::max<std::int64_t>(body.kept() / std::max<std::int64_t>(extent, 1), 1);
  const std::int64_t wanted = (units + outer - 1) / outer;
  tile = std::min(tile, std::max((extent + wanted - 1) / wanted, 4 * lanes));
  return (std::min(tile, extent) + lanes - 1) / lanes * lanes;
}

Outcome<HostReduction> plan_reduction(const Body& full, bool columns, std::int64_t lanes, std::int64_t tile,
                                      std::int64_t chunks) {
  const auto refuse = [](const std::string& reason) { return Rejection{"codegen", reason, ""}; };
  HostReduction plan;
  plan.body = collapse(full);
  plan.columns = columns;
  const std::optional<std::size_t> axis = reduction_vector_axis(plan.body, columns);
  if (!axis && columns) return refuse("lanes along columns need a kept axis longer than one");
  plan.vector_axis = axis.value_or(plan.body.axes.size() - 1);
  const std::int64_t extent = plan.body.axes[plan.vector_axis].extent;
  if (lanes < (columns ? 2 : 1) || lanes > 64 || (lanes & (lanes - 1)) != 0 ||
      lanes > std::max<std::int64_t>(extent, 1))
    return refuse("lanes must be a power of two no longer than their axis");
  if (chunks < 1 || (columns && tile < 1)) return refuse("tile and chunks must be positive");
  plan.lanes = static_cast<int>(lanes);
  // The tile's arrays lie on the stack.
  if (columns) plan.tile = std::min(std::max(tile / lanes, std::int64_t{1}), std::int64_t{256}) * lanes;

  plan.chunk_axis = plan.vector_axis;
  if (columns || extent < 4096) {
    for (std::size_t a = kept_axes(plan.body); a < plan.body.axes.size(); ++a)
      if (!plan.body.axes[plan.chunk_axis].reduced || plan.body.axes[a].extent > plan.body.axes[plan.chunk_axis].extent)
        plan.chunk_axis = a;
  }
  const std::int64_t length = std::max<std::int64_t>(plan.body.axes[plan.chunk_axis].extent, 1);
  const std::int64_t unit = plan.chunk_axis == plan.vector_axis ? 4 * lanes : 1;
  plan.chunk_length = ((length + chunks - 1) / chunks + unit - 1) / unit * unit;
  plan.chunks = (length + plan.chunk_length - 1) / plan.chunk_length;
  return plan;
}

}  // namespace cudaagent::codegen
