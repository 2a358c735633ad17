// The memory a claim's kernels run in, laid out in the memory shared with the child: every tensor and scratch buffer in
// a slot of its own, poison everywhere else. What a kernel must not touch is checked here, by the parent.
#pragma once

#include <string>
#include <vector>

#include "verify/shared_memory.h"
#include "verify/strided.h"
#include "verify/verify.h"

namespace cudaagent::verify {

/// All bits set is NaN in every float type and -1 in every integer; the second is a large finite number.
inline constexpr unsigned char poisons[2] = {0xff, 0x7b};

class TestBed {
 public:
  TestBed(const Claim& claim, SharedMemory& memory, TensorHost& host);

  /// Gives every buffer a fresh address, by `seed`, and puts the inputs in place. They must outlive the rounds that
  /// follow.
  void lay_out(std::uint64_t seed, std::vector<Elements> inputs);
  /// Poisons everything but the inputs, and puts zeros where scratch starts zeroed.
  void poison(unsigned char value);
  /// What was written outside the outputs since poison(): empty, or the first thing found.
  std::string damage() const;

  Elements tensor(std::int32_t index) const;
  std::int64_t bytes() const { return bytes_; }
  /// For each launch of each step, its arguments as offsets.
  std::vector<std::vector<std::int64_t>> launch_offsets() const;

 private:
  struct Slot {
    std::int64_t offset = 0, bytes = 0;
    std::int32_t tensor = -1;  ///< -1: scratch
    bool zeroed = false;
    bool input = false;
  };
  void fill(std::int64_t from, std::int64_t to, unsigned char value);
  std::int64_t gap_damage() const;

  const Claim& claim_;
  SharedMemory& memory_;
  TensorHost& host_;
  std::vector<Slot> slots_;                              ///< tensors first, then scratch
  std::vector<std::vector<std::size_t>> scratch_slots_;  ///< by step
  std::vector<std::size_t> by_offset_;
  std::int64_t bytes_ = 0;
  unsigned char poison_ = 0;
  std::vector<Elements> inputs_;
};

/// The first element that both runs left as poison, -1 when every one was written.
std::int64_t first_unwritten(const Elements& after_first, const Elements& after_second, TensorHost& host);

}  // namespace cudaagent::verify
