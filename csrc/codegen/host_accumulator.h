// The accumulators of one reduction: what they are called in the generated text and where their partials lie.
#pragma once

#include <string>
#include <vector>

#include "codegen/host_writer.h"

namespace cudaagent::codegen {

struct HostAccumulator {
  std::int32_t inst = -1;
  bool argument = false;  ///< argmax or argmin
  DType value = DType::f32, index = DType::i32;

  std::string name(const char* prefix) const { return prefix + std::to_string(inst); }
  /// Accumulator over vectors or over scalars.
  std::string type(const HostWriter& out, bool vector) const;
  /// "a5.take(x, kept);": `position` is the index of the element in row-major order of the reduced axes.
  std::string take(const HostWriter& out, const std::string& kept, const std::string& position) const;
  /// Value of the reduction from a joined accumulator: scalar accumulators, or vectors of columns.
  std::string result(const HostWriter& out, const std::string& joined, bool vector) const;
  std::size_t scratch_count() const { return argument ? 2 : 1; }
};

HostAccumulator host_accumulator(const schedule::Body& body, std::int32_t reduce);

}  // namespace cudaagent::codegen
