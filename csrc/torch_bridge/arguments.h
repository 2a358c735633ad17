// Arguments of a graph node as the boxed calling convention takes them.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <optional>
#include <vector>

#include "base/base.h"

namespace cudaagent::bridge {

/// A stack for one schema with everything in place but the tensors.
class StackTemplate {
 public:
  /// Throws UserError for an argument the schema lacks, one it needs, and a value it cannot take.
  StackTemplate(const c10::FunctionSchema& schema, const std::vector<NamedArg>& args);

  /// The stack of one call. Safe from several threads.
  torch::jit::Stack fill(std::span<const Tensor> inputs) const;

 private:
  struct TensorSlot {
    std::size_t argument;
    std::int32_t input;
  };
  /// A list with tensors among its elements, made afresh at every call because a list is shared when it is copied.
  struct ListSlot {
    std::size_t argument;
    c10::TypePtr element;
    std::vector<c10::IValue> constants;
    std::vector<std::pair<std::size_t, std::int32_t>> tensors;
  };

  void place(std::size_t argument, const c10::Argument& formal, const Arg& arg);
  bool place_list(std::size_t argument, const c10::TypePtr& type, const Arg& arg);

  torch::jit::Stack stack_;
  std::vector<TensorSlot> tensors_;
  std::vector<ListSlot> lists_;
};

}  // namespace cudaagent::bridge
