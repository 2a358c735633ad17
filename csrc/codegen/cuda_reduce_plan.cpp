#include <algorithm>
#include <map>

#include "codegen/cuda_reduce.h"

namespace cudaagent::codegen::cuda {

using schedule::Body;
using schedule::Inst;
using schedule::InstKind;

std::size_t vector_axis(const Body& body, bool columns) { return columns ? kept_axes(body) - 1 : body.axes.size() - 1; }

std::int64_t contiguous_bytes(const Body& body, std::size_t axis) {
  std::int64_t bytes = 0;
  for (const Inst& inst : body.insts)
    if (inst.kind == InstKind::load && inst.element && inst.access.strides[axis] == 1)
      bytes += dtype_size(body.buffers[static_cast<std::size_t>(inst.access.buffer)].dtype);
  return bytes;
}

bool reads_along_columns(const Body& body) {
  if (kept_axes(body) == 0) return false;
  return contiguous_bytes(body, vector_axis(body, true)) > contiguous_bytes(body, vector_axis(body, false));
}

std::vector<std::int32_t> in_phase(const Body& body, std::int64_t vector) {
  const std::size_t axis = vector_axis(body, false);
  if (axis != kept_axes(body)) return {};  // several reduced axes: a row is not one run of memory
  struct Set {
    std::vector<std::int32_t> accesses;
    std::int64_t bytes = 0;
    bool loads = false;
  };
  std::map<std::vector<std::int64_t>, Set> sets;  // by what decides where a row begins
  for (std::size_t i = 0; i < body.insts.size(); ++i) {
    const Inst& inst = body.insts[i];
    const bool access = inst.kind == InstKind::load || inst.kind == InstKind::store;
    if (!access || inst.access.strides[axis] != 1 || shared_by_rows(body, inst.access)) continue;
    std::vector<std::int64_t> begin{inst.access.offset & (vector - 1)};
    for (std::size_t a = 0; a < axis; ++a) begin.push_back(inst.access.strides[a] & (vector - 1));
    Set& set = sets[begin];
    set.accesses.push_back(static_cast<std::int32_t>(i));
    const bool load = inst.kind == InstKind::load;
    set.loads = set.loads || load;
    set.bytes += dtype_size(body.buffers[static_cast<std::size_t>(inst.access.buffer)].dtype) * (load ? 2 : 1);
  }
  const Set* most = nullptr;
  for (const auto& [begin, set] : sets)
    if (set.loads && (!most || set.bytes > most->bytes)) most = &set;
  return most ? most->accesses : std::vector<std::int32_t>{};
}

std::int64_t row_vector(const Body& body) {
  const std::int64_t plain = vector_width(body, vector_axis(body, false), false);
  // Shorter rows spend as much on their edges as whole vectors save.
  constexpr std::int64_t least_row = 2048;
  if (body.reduced() < least_row) return plain;
  const std::int64_t widest = widest_access(body, vector_axis(body, false));
  const std::int64_t wanted = widest ? 16 / widest : 1;
  return wanted > plain && !in_phase(body, wanted).empty() ? wanted : plain;
}

bool is_shifted(const Body& body, const ReduceShape& shape) {
  return !shape.columns && vector_width(body, vector_axis(body, false), false) % shape.vector != 0;
}

bool shared_by_rows(const Body& body, const schedule::Access& access) {
  std::int64_t distinct = 1;
  for (std::size_t a = 0; a < body.axes.size(); ++a)
    if (access.strides[a] != 0) distinct *= body.axes[a].extent;
  return distinct * 8 <= body.kept() * body.reduced();
}

std::int64_t registers_per_element(const Body& body) {
  const std::vector<PersistentStage> plan = persistent_stages(body);
  const auto registers = [&](std::int32_t id) {
    return std::max<std::int64_t>(dtype_size(body.insts[static_cast<std::size_t>(id)].dtype) / 4, 1);
  };
  // last[id]: the stage that uses a kept value last.
  std::vector<std::size_t> last(body.insts.size(), 0);
  for (std::size_t s = 0; s < plan.size(); ++s)
    for (const std::int32_t id : plan[s].element)
      for (const std::int32_t operand : body.insts[static_cast<std::size_t>(id)].operands)
        last[static_cast<std::size_t>(operand)] = s;
  std::int64_t most = 1;
  for (std::size_t s = 0; s < plan.size(); ++s) {
    std::int64_t entering = 0, leaving = 0, loading = 0;
    for (std::size_t t = 0; t <= s; ++t)
      for (const std::int32_t id : plan[t].kept) {
        const std::size_t end = last[static_cast<std::size_t>(id)];
        entering += t < s && end >= s ? registers(id) : 0;
        leaving += end > s ? registers(id) : 0;
      }
    for (const std::int32_t id : plan[s].element) {
      const Inst& inst = body.insts[static_cast<std::size_t>(id)];
      if (inst.kind == InstKind::load && !plan[s].kept.contains(id) && !shared_by_rows(body, inst.access))
        loading += std::max<std::int64_t>(dtype_size(inst.dtype), 2);
    }
    most = std::max({most, entering + loading / 8, leaving + loading / 8});
  }
  return most;
}

std::int64_t elements_per_thread(const Body& body, const ReduceShape& shape) {
  const std::int64_t length = ceil_div(body.reduced(), shape.cluster * shape.splits);
  return shape.columns ? ceil_div(length, shape.groups) : ceil_div(length, shape.lanes * shape.vector) * shape.vector;
}

}  // namespace cudaagent::codegen::cuda
