// Placement by size: the largest slot first, each into the smallest gap left by those alive at the same time.
#include <algorithm>
#include <numeric>

#include "runtime/places.h"
#include "runtime/runtime.h"

namespace cudaagent::runtime {

namespace {

constexpr std::int64_t alignment = 256;

std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

struct Placer {
  std::vector<Arena::Slot>& slots;
  std::vector<std::size_t> placed;  // ascending by offset

  // The smallest gap between neighbours that holds `slot`, else the first byte past all of them.
  std::int64_t best_offset(const Arena::Slot& slot) const {
    std::int64_t best = -1, best_gap = 0, end = 0;
    for (const std::size_t p : placed) {
      const Arena::Slot& other = slots[p];
      if (other.last < slot.first || slot.last < other.first) continue;
      const std::int64_t gap = other.offset - end;
      if (gap >= slot.bytes && (best < 0 || gap < best_gap)) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, other.offset + other.bytes);
    }
    return best < 0 ? end : best;
  }

  void place(std::size_t index) {
    slots[index].offset = best_offset(slots[index]);
    const auto by_offset = [&](std::size_t a, std::size_t b) { return slots[a].offset < slots[b].offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index, by_offset), index);
  }
};

std::vector<Arena::Slot> value_slots(const schedule::Plan& plan) {
  const Places places = find_places(plan);
  std::vector<Arena::Slot> slots;
  for (std::size_t v = 0; v < places.of.size(); ++v) {
    const auto value = static_cast<ir::ValueId>(v);
    if (places[value].home != Home::arena || places[value].root != value) continue;
    slots.push_back({value, 0, aligned(bytes_spanned(plan.graph.type(value))), places.first[v], places.last[v]});
  }
  return slots;
}

}  // namespace

Arena plan_memory(const schedule::Plan& plan, const std::vector<const codegen::Source*>& sources) {
  Arena arena;
  std::vector<Arena::Slot> slots = value_slots(plan);
  const std::size_t values = slots.size();
  for (std::size_t r = 0; r < sources.size(); ++r) {
    if (!sources[r]) continue;
    for (const codegen::Scratch& scratch : sources[r]->scratch) {
      slots.push_back({ir::no_value, 0, aligned(scratch.bytes), static_cast<int>(r), static_cast<int>(r)});
    }
  }
  std::vector<std::size_t> order(slots.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return slots[a].bytes > slots[b].bytes; });
  Placer placer{slots, {}};
  for (const std::size_t index : order) {
    placer.place(index);
    arena.bytes = std::max(arena.bytes, slots[index].offset + slots[index].bytes);
  }
  for (std::size_t s = values; s < slots.size(); ++s) arena.scratch_offsets.push_back(slots[s].offset);
  slots.resize(values);
  arena.slots = std::move(slots);
  return arena;
}

}  // namespace cudaagent::runtime
