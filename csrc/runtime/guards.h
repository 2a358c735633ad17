// The properties a program assumes of its inputs, checked at every call before anything is written.
#pragma once

#include <span>
#include <vector>

#include "ir/ir.h"
#include "runtime/runtime.h"

namespace cudaagent::runtime {

/// Parameters and buffers as bind() left them, with where they were then. Immutable, so calls share it without a lock.
struct Bound {
  std::vector<Tensor> tensors;
  std::vector<void*> data;
  bool overlaps = false;  ///< one that the program updates shares memory with another
};

class Guards {
 public:
  Guards(const ir::Graph& graph, const std::vector<bool>& bound, TensorHost& host);

  std::size_t bound_count() const { return bound_.size(); }
  std::size_t user_count() const { return user_.size(); }
  Bound inspect(std::vector<Tensor> tensors) const;
  /// All inputs in the graph's order.
  std::vector<const Tensor*> gather(const Bound& bound, std::span<const Tensor> inputs) const;
  /// Throws GuardFailure on a wrong type, where an input the program updates shares memory with another, and on a class
  /// index in the CPU's memory that is none: eager has an error for that.
  void check(std::span<const Tensor* const> inputs, const Bound& bound) const;

 private:
  struct Range {
    std::uintptr_t begin = 0, end = 0;
    std::int32_t input = 0;
  };

  void check_indices(std::span<const Tensor* const> inputs) const;
  void check_types(std::span<const Tensor* const> inputs) const;
  Range range(const Tensor& tensor, std::int32_t input) const;
  bool bound_moved(const Bound& bound) const;
  bool any_overlap(std::vector<Range> ranges) const;
  bool user_overlap(std::span<const Tensor* const> inputs, const Bound& bound) const;

  TensorHost& host_;
  std::vector<TensorType> types_;  // by input
  std::vector<std::uintptr_t> bytes_;
  std::vector<std::string> names_;
  std::vector<bool> updated_;  // by input
  bool updates_ = false;
  std::vector<std::int32_t> indices_;       // inputs of class indices on the CPU
  std::vector<std::int64_t> index_count_;   // how many classes each has
  std::vector<std::int32_t> bound_, user_;  // input indices
};

}  // namespace cudaagent::runtime
