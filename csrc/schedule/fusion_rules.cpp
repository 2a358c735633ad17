// What a merge must not do: wait for itself, exceed a launch, or take a long row's blocks from each other.
#include <algorithm>

#include "schedule/fusion.h"

namespace cudaagent::schedule {

using ir::ValueId;

namespace {

constexpr std::size_t most_buffers = 64;
// Reads and writes below this are not worth a merge of unrelated siblings.
constexpr std::int64_t least_shared_elements = 1024;

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

/// Bytes one row keeps close when every stage but the last is to read its inputs once.
std::int64_t row_bytes(const Body& body) {
  std::int64_t bytes = 0;
  for (const Inst& inst : body.insts) {
    if (inst.kind == InstKind::load && inst.element) bytes += body.reduced() * dtype_size(inst.dtype);
  }
  return bytes;
}

}  // namespace

// Two groups that read all of one big input over the same iteration space.
bool Fusion::is_sibling(const Group& a, const Group& b, ValueId input) const {
  const Body &x = a.built.body, &y = b.built.body;
  const std::int64_t elements = flow_.graph().type(input).numel();
  if (elements < least_shared_elements || x.kept() * x.reduced() != elements) return false;
  if (y.kept() * y.reduced() != elements) return false;
  return !x.has_reduction() || !y.has_reduction() || x.kept() == y.kept();
}

bool Fusion::is_allowed(const Body& body) const {
  if (body.buffers.size() > most_buffers || body.insts.size() > most_insts) return false;
  if (!body.has_reduction()) return true;
  // A long row of which there are few is reduced by many blocks in two steps: one stage of reductions, and no
  // element-level work that waits for their result.
  if (row_bytes(body) <= machine_.persistent_row_bytes || body.kept() >= 2 * machine_.units) return true;
  return std::none_of(body.insts.begin(), body.insts.end(), [](const Inst& inst) {
    return inst.stage > 0 && (inst.element || inst.kind == InstKind::reduce);
  });
}

std::vector<ValueId> Fusion::outputs_of(const std::vector<std::int32_t>& nodes) const {
  std::vector<ValueId> outputs;
  for (const std::int32_t n : nodes) {
    const ValueId value = flow_.node(n).outputs[0];
    const std::vector<std::int32_t>& readers = flow_.readers(value);
    const bool outside = std::any_of(readers.begin(), readers.end(), [&](std::int32_t reader) {
      return !std::binary_search(nodes.begin(), nodes.end(), reader);
    });
    if (outside || flow_.is_forced(value)) outputs.push_back(value);
  }
  return outputs;
}

// True when some node outside both groups needs a result of `from` and `to` needs a result of it: merging the two would
// make the region wait for itself. External nodes also wait for the external node before them.
bool Fusion::path_through_others(GroupId from, GroupId to) const {
  const std::int32_t last = group(to).nodes.back();
  if (group(from).nodes.front() > last) return false;
  std::vector<bool> seen(static_cast<std::size_t>(last) + 1, false);
  std::vector<std::int32_t> todo;
  bool found = false;
  const auto visit = [&](std::int32_t n, bool direct) {
    const GroupId its = group_of(n);
    if (its == from) return;
    if (its == to && its >= 0) {
      found = found || !direct;
      return;
    }
    // All nodes of a group run where its first may.
    const std::int32_t first = its >= 0 ? group(its).nodes.front() : n;
    if (first > last || seen[at(first)]) return;
    seen[at(first)] = true;
    todo.push_back(first);
  };
  const auto visit_readers = [&](std::int32_t n, bool direct) {
    for (const ValueId output : flow_.node(n).outputs) {
      if (output == ir::no_value) continue;
      for (const std::int32_t reader : flow_.readers(output)) visit(reader, direct);
    }
  };
  for (const std::int32_t n : group(from).nodes) visit_readers(n, true);
  while (!todo.empty() && !found) {
    const std::int32_t n = todo.back();
    todo.pop_back();
    if (group_of(n) >= 0) {
      for (const std::int32_t member : group(group_of(n)).nodes) visit_readers(member, false);
    } else {
      visit_readers(n, false);
      if (next_external_[at(n)] >= 0) visit(next_external_[at(n)], false);
    }
  }
  return found;
}

}  // namespace cudaagent::schedule
