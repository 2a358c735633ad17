#include "verify/test_bed.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "verify/random.h"

namespace cudaagent::verify {

namespace {

constexpr std::int64_t alignment = 256;
constexpr std::uint64_t most_guards = 8;  // guard bands are 1 to 8 times the alignment

std::int64_t align(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

bool all_equal(const std::byte* at, std::int64_t bytes, unsigned char value) {
  return std::all_of(at, at + bytes, [&](std::byte b) { return b == std::byte{value}; });
}

}  // namespace

TestBed::TestBed(const Claim& claim, SharedMemory& memory) : claim_(claim), memory_(memory) {
  for (std::size_t i = 0; i < claim.tensors.size(); ++i) {
    const TensorType& type = claim.tensors[i];
    slots_.push_back({0, type.span() * dtype_size(type.dtype), static_cast<std::int32_t>(i), false});
  }
  for (const Step& step : claim.steps) {
    std::vector<std::size_t>& own = scratch_slots_.emplace_back();
    for (const codegen::Scratch& scratch : step.source.scratch) {
      own.push_back(slots_.size());
      slots_.push_back({0, scratch.bytes, -1, scratch.zeroed});
    }
  }
}

void TestBed::lay_out(std::uint64_t seed) {
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
}

void TestBed::prepare(unsigned char poison, const std::vector<Elements>& inputs) {
  poison_ = poison;
  inputs_ = inputs;
  std::byte* const base = memory_.data();
  std::memset(base, poison, static_cast<std::size_t>(bytes_));
  for (const Slot& slot : slots_) {
    if (slot.zeroed) std::memset(base + slot.offset, 0, static_cast<std::size_t>(slot.bytes));
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Slot& slot = slots_[static_cast<std::size_t>(claim_.inputs[k])];
    std::memcpy(base + slot.offset, inputs[k].data, static_cast<std::size_t>(slot.bytes));
  }
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
      return "memory was written " + std::to_string(at - (slot.offset + slot.bytes) + 1) + " bytes past the end of " + what;
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

std::int64_t first_unwritten(const Elements& after_first, const Elements& after_second) {
  const std::int64_t size = dtype_size(after_first.type.dtype);
  std::int64_t found = -1;
  for_each_run(after_first.type, 0, after_first.type.numel(),
               [&](std::int64_t first, std::int64_t offset, std::int64_t length, std::int64_t step) {
                 for (std::int64_t i = 0; i < length && found < 0; ++i) {
                   const std::int64_t at = offset + i * step;
                   // One byte decides nearly always.
                   if (after_second.data[at] != std::byte{poisons[1]} || after_first.data[at] != std::byte{poisons[0]}) continue;
                   if (all_equal(after_first.data + at, size, poisons[0]) && all_equal(after_second.data + at, size, poisons[1])) {
                     found = first + i;
                   }
                 }
               });
  return found;
}

}  // namespace cudaagent::verify
