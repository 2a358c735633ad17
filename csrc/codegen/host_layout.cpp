#include "codegen/host_layout.h"

#include <algorithm>

namespace cudaagent::codegen {

namespace {

using schedule::Body;
using schedule::Inst;
using schedule::InstKind;

struct Moved {
  double unit = 0, varying = 0;
};

Moved moved_along(const Body& body, std::size_t axis) {
  Moved moved;
  for (const Inst& inst : body.insts) {
    if (inst.kind != InstKind::load && inst.kind != InstKind::store) continue;
    // What is read along fewer axes is read from cache most of the time.
    double bytes = static_cast<double>(dtype_size(body.buffers[static_cast<std::size_t>(inst.access.buffer)].dtype));
    for (std::size_t a = 0; a < body.axes.size(); ++a)
      if (inst.access.strides[a] != 0) bytes *= static_cast<double>(body.axes[a].extent);
    const std::int64_t stride = inst.access.strides[axis];
    if (stride != 0) moved.varying += bytes;
    if (stride == 1) moved.unit += bytes;
  }
  return moved;
}

}  // namespace

std::optional<std::size_t> vector_axis(const Body& body, AxisGroup group) {
  std::optional<std::size_t> best;
  double most = -1;
  for (std::size_t a = 0; a < body.axes.size(); ++a) {
    if (body.axes[a].extent < 2) continue;
    if (group != AxisGroup::any && body.axes[a].reduced != (group == AxisGroup::reduced)) continue;
    // A very short axis leaves most lanes idle.
    const double fill = std::min(1.0, static_cast<double>(body.axes[a].extent) / 16.0);
    const double unit = moved_along(body, a).unit * fill;
    if (unit >= most) {
      most = unit;
      best = a;
    }
  }
  return best;
}

double unit_stride_share(const Body& body, std::size_t axis) {
  const Moved moved = moved_along(body, axis);
  return moved.varying > 0 ? moved.unit / moved.varying : 0;
}

int lanes_for(const Body& body, std::int64_t extent) {
  std::int64_t widest = 1;
  bool floats = false;
  for (const Inst& inst : body.insts) {
    if (inst.kind == InstKind::store) continue;
    // Small floats compute in f32 and masks are 32 bits wide.
    const std::int64_t bytes = inst.dtype == DType::b8 ? 4 : dtype_size(compute_dtype(inst.dtype));
    widest = std::max(widest, bytes);
    floats = floats || bytes == 4;
  }
  std::int64_t lanes = widest == 8 && floats ? 16 : 64 / widest;
  while (lanes > extent) lanes /= 2;
  return static_cast<int>(std::max<std::int64_t>(lanes, 1));
}

std::vector<std::map<std::string, std::int64_t>> with_each(const std::map<std::string, std::int64_t>& start,
                                                           const std::string& name,
                                                           const std::vector<std::int64_t>& values) {
  std::vector<std::map<std::string, std::int64_t>> result(values.size(), start);
  for (std::size_t k = 0; k < values.size(); ++k) result[k][name] = values[k];
  return result;
}

}  // namespace cudaagent::codegen
