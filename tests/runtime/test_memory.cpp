#include <gtest/gtest.h>

#include "runtime/toy_plan.h"

namespace cudaagent::runtime {
namespace {

using testing::add_both;
using testing::add_one;
using testing::ToyPlan;

const Arena::Slot& slot_of(const Arena& arena, ir::ValueId value) {
  for (const Arena::Slot& slot : arena.slots) {
    if (slot.value == value) return slot;
  }
  throw std::runtime_error("no slot");
}

TEST(PlanMemory, ChainReusesTwoSlots) {
  ToyPlan toy;
  ir::ValueId last = toy.input(DType::f32, {1000});
  for (int i = 0; i < 6; ++i) {
    const ir::ValueId next = toy.value(DType::f32, {1000});
    toy.generated(add_one, {last}, {next}, 1000);
    last = next;
  }
  toy.output(last);
  const Arena arena = plan_memory(toy.plan(), toy.sources());
  EXPECT_EQ(arena.slots.size(), 5u);  // the returned value is allocated on its own
  EXPECT_EQ(arena.bytes, 2 * 4096);
}

TEST(PlanMemory, SlotsAliveTogetherNeverOverlap) {
  ToyPlan toy;
  const ir::ValueId x = toy.input(DType::f32, {4096});
  std::vector<ir::ValueId> made{x};
  // A deterministic tangle of sizes and distances.
  for (int i = 1; i < 60; ++i) {
    const ir::ValueId value = toy.value(DType::f32, {(i * 37) % 500 + 1});
    toy.generated(add_both, {made[(i * 7) % made.size()], made.back()}, {value}, 1, {{(i * 113) % 900, false}});
    made.push_back(value);
  }
  toy.output(made.back());
  const Arena arena = plan_memory(toy.plan(), toy.sources());
  std::vector<Arena::Slot> all = arena.slots;
  int region = 0;
  for (const std::int64_t offset : arena.scratch_offsets) {
    all.push_back({ir::no_value, offset, ((region + 1) * 113) % 900, region, region});
    ++region;
  }
  EXPECT_EQ(region, 59);
  for (std::size_t a = 0; a < all.size(); ++a) {
    EXPECT_EQ(all[a].offset % 256, 0);
    EXPECT_LE(all[a].offset + all[a].bytes, arena.bytes);
    for (std::size_t b = 0; b < a; ++b) {
      if (all[a].last < all[b].first || all[b].last < all[a].first) continue;
      const bool apart = all[a].offset + all[a].bytes <= all[b].offset || all[b].offset + all[b].bytes <= all[a].offset;
      EXPECT_TRUE(apart) << a << " and " << b;
    }
  }
}

TEST(PlanMemory, ViewKeepsItsBaseAlive) {
  ToyPlan toy;
  const ir::ValueId x = toy.input(DType::f32, {64});
  const ir::ValueId a = toy.value(DType::f32, {64});
  toy.generated(add_one, {x}, {a}, 64);
  const ir::ValueId head = toy.view(a, {32}, {1}, 32);
  const ir::ValueId b = toy.value(DType::f32, {64});
  toy.generated(add_one, {x}, {b}, 64);
  const ir::ValueId c = toy.value(DType::f32, {32});
  toy.generated(add_both, {head, b}, {c}, 32);
  toy.output(c);
  const Arena arena = plan_memory(toy.plan(), toy.sources());
  EXPECT_EQ(slot_of(arena, a).last, 3);
  EXPECT_NE(slot_of(arena, a).offset, slot_of(arena, b).offset);
}

TEST(PlanMemory, BaseOfAReturnedViewIsNoSlot) {
  ToyPlan toy;
  const ir::ValueId x = toy.input(DType::f32, {64});
  const ir::ValueId a = toy.value(DType::f32, {64});
  toy.generated(add_one, {x}, {a}, 64);
  toy.output(toy.view(a, {8, 8}, {8, 1}, 0));
  EXPECT_TRUE(plan_memory(toy.plan(), toy.sources()).slots.empty());
}

TEST(PlanMemory, ReadingAValueNobodyMadeIsABug) {
  ToyPlan toy;
  const ir::ValueId ghost = toy.value(DType::f32, {4});
  const ir::ValueId a = toy.value(DType::f32, {4});
  toy.generated(add_one, {ghost}, {a}, 4);
  toy.output(a);
  EXPECT_THROW(plan_memory(toy.plan(), toy.sources()), InternalError);
}

}  // namespace
}  // namespace cudaagent::runtime
