#include "verify/test_bed.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "verify/random.h"

namespace cudaagent::verify {

namespace {

constexpr std::int64_t alignment = 256;
constexpr std::int64_t parallel_bytes = 1 << 22;
constexpr std::uint64_t most_guards = 8;  // guard bands are 1 to 8 times the alignment

std::int64_t align(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

bool all_equal(const std::byte* at, std::int64_t bytes, unsigned char value) {
  return std::all_of(at, at + bytes, [&](std::byte b) { return b == std::byte{value}; });
}

}  // namespace

TestBed::TestBed(const Claim& claim, SharedMemory& memory, TensorHost& host)
    : claim_(claim), memory_(memory), host_(host) {
  for (std::size_t i = 0; i < claim.tensors.size(); ++i) {
    const TensorType& type = claim.tensors[i];
    slots_.push_back({0, type.span() * dtype_size(type.dtype), static_cast<std::int32_t>(i), false, false});
  }
  for (const Step& step : claim.steps) {
    std::vector<std::size_t>& own = scratch_slots_.emplace_back();
    for (const codegen::Scratch& scratch : step.source.scratch) {
      own.push_back(slots_.size());
      slots_.push_back({0, scratch.bytes, -1, scratch.zeroed, false});
    }
  }
  for (const std::int32_t input : claim.inputs) slots_.at(static_cast<std::size_t>(input)).input = true;
}

void TestBed::lay_out(std::uint64_t seed, std::vector<Elements> inputs) {
  by_offset_.resize(slots_.size());
  std::iota(by_offset_.begin(), by_offset_.end(), std::size_t{0});
  const auto order = [&](std::size_t slot) { return random_bits(seed, static_cast<std::int64_t>(slot)); };
  std::sort(by_offset_.begin(), by_offset_.end(), [&](std::size_t a, std::size_t b) { return order(a) < order(b); });
  const auto guard = [&](std::size_t slot) {
    return alignment * static_cast<std::int64_t>(1 + order(slot) % most_guards);
  };
  std::int64_t at = 0;
  for (const std::size_t slot : by_offset_) {
    at += guard(slot);
    slots_[slot].offset = at;
    at = align(at + slots_[slot].bytes);
  }
  bytes_ = at + alignment;
  memory_.reserve(bytes_);
  inputs_ = std::move(inputs);
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    const Slot& slot = slots_[static_cast<std::size_t>(claim_.inputs[k])];
    std::memcpy(memory_.data() + slot.offset, inputs_[k].data, static_cast<std::size_t>(slot.bytes));
  }
}

void TestBed::fill(std::int64_t from, std::int64_t to, unsigned char value) {
  host_.parallel_for(to - from, parallel_bytes, [&](std::int64_t begin, std::int64_t end) {
    std::memset(memory_.data() + from + begin, value, static_cast<std::size_t>(end - begin));
  });
}

void TestBed::poison(unsigned char value) {
  poison_ = value;
  std::int64_t from = 0;
  for (const std::size_t index : by_offset_) {
    const Slot& slot = slots_[index];
    if (!slot.input && !slot.zeroed) continue;
    fill(from, slot.offset, value);
    if (slot.zeroed) fill(slot.offset, slot.offset + slot.bytes, 0);
    from = slot.offset + slot.bytes;
  }
  fill(from, bytes_, value);
}

std::string TestBed::damage() const {
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    const Slot& slot = slots_[static_cast<std::size_t>(claim_.inputs[k])];
    if (std::memcmp(memory_.data() + slot.offset, inputs_[k].data, static_cast<std::size_t>(slot.bytes)) != 0) {
      return "input " + std::to_string(k) + " was overwritten";
    }
  }
  const std::int64_t at = gap_damage();
  if (at < 0) return "";
  for (const std::size_t index : by_offset_) {
    const Slot& slot = slots_[index];
    const std::string what = slot.tensor < 0 ? "a scratch buffer" : "tensor " + std::to_string(slot.tensor);
    if (at < slot.offset && slot.offset - at <= alignment) {
      return "memory was written " + std::to_string(slot.offset - at) + " bytes before " + what;
    }
    if (at >= slot.offset + slot.bytes && at - (slot.offset + slot.bytes) < 2 * alignment) {
      return "memory was written " + std::to_string(at - (slot.offset + slot.bytes) + 1) + " bytes past the end of " +
             what;
    }
  }
  return "memory outside every buffer was written";
}

/// Offset of the first byte between slots that is not poison, -1 when there is none.
std::int64_t TestBed::gap_damage() const {
  const std::byte* const base = memory_.data();
  std::int64_t from = 0;
  const auto check = [&](std::int64_t to) -> std::int64_t {
    if (all_equal(base + from, to - from, poison_)) return -1;
    return std::find_if(base + from, base + to, [&](std::byte b) { return b != std::byte{poison_}; }) - base;
  };
  for (const std::size_t index : by_offset_) {
    if (const std::int64_t at = check(slots_[index].offset); at >= 0) return at;
    from = slots_[index].offset + slots_[index].bytes;
  }
  return check(bytes_);
}

Elements TestBed::tensor(std::int32_t index) const {
  const auto i = static_cast<std::size_t>(index);
  return {memory_.data() + slots_.at(i).offset, claim_.tensors.at(i)};
}

std::vector<std::vector<std::int64_t>> TestBed::launch_offsets() const {
  std::vector<std::vector<std::int64_t>> all;
  for (std::size_t s = 0; s < claim_.steps.size(); ++s) {
    for (const codegen::Launch& launch : claim_.steps[s].source.launches) {
      std::vector<std::int64_t>& offsets = all.emplace_back();
      for (const codegen::KernelArg& arg : launch.args) {
        const auto index = static_cast<std::size_t>(arg.index);
        const std::size_t slot = arg.kind == codegen::KernelArg::Kind::scratch
                                     ? scratch_slots_.at(s).at(index)
                                     : static_cast<std::size_t>(claim_.bindings.at(s).at(index));
        offsets.push_back(slots_.at(slot).offset);
      }
    }
  }
  return all;
}

std::int64_t first_unwritten(const Elements& after_first, const Elements& after_second, TensorHost& host) {
  const std::int64_t size = dtype_size(after_first.type.dtype), count = after_first.type.numel();
  const auto is_poison = [&](std::int64_t at) {
    // One byte decides nearly always.
    return after_second.data[at] == std::byte{poisons[1]} && after_first.data[at] == std::byte{poisons[0]} &&
           all_equal(after_first.data + at, size, poisons[0]) && all_equal(after_second.data + at, size, poisons[1]);
  };
  std::atomic<std::int64_t> found{count};
  host.parallel_for(count, parallel_grain, [&](std::int64_t from, std::int64_t to) {
    for_each_run(after_first.type, from, to - from,
                 [&](std::int64_t first, std::int64_t offset, std::int64_t length, std::int64_t step) {
                   std::int64_t i = 0;
                   while (i < length && !is_poison(offset + i * step)) ++i;
                   if (i == length) return;
                   std::int64_t before = found;
                   while (first + i < before && !found.compare_exchange_weak(before, first + i)) {
                   }
                 });
  });
  return found < count ? found.load() : -1;
}

}  // namespace cudaagent::verify
