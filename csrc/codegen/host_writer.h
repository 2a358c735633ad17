// Writes the instructions of a body as host C++: which values are vectors, what each is called, where memory is
// touched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "codegen/expression.h"

namespace cudaagent::codegen {

class HostWriter {
 public:
  /// Lanes run along axis `vector_axis`; `lanes` 1 makes every value a scalar. `kept_lanes`: the lanes run along a kept
  /// axis, so that results of reductions are vectors too.
  HostWriter(const schedule::Body& body, std::size_t vector_axis, int lanes, bool kept_lanes);

  const schedule::Body& body() const { return body_; }
  int lanes() const { return lanes_; }
  std::size_t vector_axis() const { return vector_axis_; }
  bool varies(std::int32_t inst) const { return varies_[static_cast<std::size_t>(inst)]; }

  void line(const std::string& text);
  void open(const std::string& text);  ///< text and a brace; what follows is indented
  void close(const std::string& after = "");

  /// The value of an instruction, as the loops around it may use it; a vector when `as_vector` and there are lanes.
  std::string operand(std::int32_t inst, bool as_vector) const;
  /// Renames a value: row values that live in arrays, one vector per column block.
  void rename(std::int32_t inst, std::string name) { names_[static_cast<std::size_t>(inst)] = std::move(name); }
  /// Type of a value: "float", "ca::vec<float>".
  std::string type(DType dtype, bool vector) const;

  /// Text of a load, constant, index or map.
  std::string value(std::int32_t inst) const;
  /// "const float v3 = ...;"
  void define(std::int32_t inst);
  void store(std::int32_t inst);
  /// Name of axis a's index variable; "0" drops out of the addresses of axes that are not looped over.
  static std::string index(std::size_t axis) { return "i" + std::to_string(axis); }
  std::string address(const schedule::Access& access) const;

  /// Opens "extern "C" void name(...)" and binds one restricted pointer p<k> per buffer.
  void open_kernel(const std::string& name);
  /// Declares the index variables of `axes` from the linear index `text`, the last axis fastest.
  void split_index(const std::vector<std::size_t>& axes, const std::string& text);

  /// The whole source: lanes, includes, and what was written.
  std::string source() const;

 private:
  /// Whether it is an index that grows from lane to lane.
  bool counts_lanes(std::int32_t inst) const;

  const schedule::Body& body_;
  std::size_t vector_axis_;
  int lanes_;
  std::vector<bool> varies_;
  std::vector<std::string> names_;
  std::string text_;
  int depth_ = 0;
};

/// One argument per buffer of the body, in order.
std::vector<KernelArg> buffer_args(const schedule::Body& body);

/// Iterations one thread should at least take, when each handles `elements` elements.
std::int64_t grain_for(std::int64_t elements);

}  // namespace cudaagent::codegen
