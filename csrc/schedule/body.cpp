// What a body says about itself.
#include <algorithm>
#include <map>
#include <set>

#include "schedule/schedule.h"

namespace cudaagent::schedule {

std::int64_t Body::kept() const {
  std::int64_t rows = 1;
  for (const Axis& axis : axes) rows *= axis.reduced ? 1 : axis.extent;
  return rows;
}

std::int64_t Body::reduced() const {
  std::int64_t length = 1;
  for (const Axis& axis : axes) length *= axis.reduced ? axis.extent : 1;
  return length;
}

bool Body::has_reduction() const {
  return std::any_of(insts.begin(), insts.end(), [](const Inst& inst) { return inst.kind == InstKind::reduce; });
}

std::int64_t bytes_moved(const Body& body) {
  std::map<std::int32_t, std::set<std::pair<std::int64_t, std::vector<std::int64_t>>>> seen;
  std::vector<std::int64_t> elements(body.buffers.size(), 0);
  for (const Inst& inst : body.insts) {
    if (inst.kind != InstKind::load && inst.kind != InstKind::store) continue;
    const Access& access = inst.access;
    if (!seen[access.buffer].emplace(access.offset, access.strides).second) continue;
    std::int64_t touched = 1;
    for (std::size_t a = 0; a < body.axes.size(); ++a) touched *= access.strides[a] != 0 ? body.axes[a].extent : 1;
    elements[static_cast<std::size_t>(access.buffer)] += touched;
  }
  std::int64_t bytes = 0;
  for (std::size_t b = 0; b < body.buffers.size(); ++b) {
    // Several looks at one buffer overlap where they exceed it.
    bytes += std::min(elements[b], body.buffers[b].span) * dtype_size(body.buffers[b].dtype);
  }
  return bytes;
}

}  // namespace cudaagent::schedule
