// The state of one call: which tensor and which address each piece of memory has this time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/base.h"

namespace cudaagent::runtime {

/// Memory of one call, by number: 0 the arena, 1 + i graph input i, then tensors made during the call.
using BaseId = std::int32_t;
inline constexpr BaseId arena_base = 0;

/// A value as an operator takes it: a tensor over part of a base.
struct Operand {
  BaseId base = arena_base;
  std::int64_t offset = 0;  ///< bytes past the base's first element
  bool whole = false;       ///< the base's own tensor is the value
  TensorType type;
};
using OperandId = std::int32_t;

class Frame {
 public:
  Frame(TensorHost& host, const std::vector<Operand>& operands, std::span<const Tensor* const> inputs,
        std::size_t bases);

  /// Puts a tensor made during the call behind `base`.
  void put(BaseId base, Tensor tensor);
  const Tensor& tensor(BaseId base) const;
  /// Finds the address of the base's first element, for kernels.
  void locate(BaseId base) { data_[static_cast<std::size_t>(base)] = host.data(tensor(base)); }
  void* address(BaseId base, std::int64_t offset) const {
    return static_cast<std::byte*>(data_[static_cast<std::size_t>(base)]) + offset;
  }

  /// The operand as a tensor; views are made when first asked for.
  const Tensor& operand(OperandId id);
  void* operand_address(OperandId id) const {
    const Operand& operand = operands_[static_cast<std::size_t>(id)];
    return address(operand.base, operand.offset);
  }

  void drop_base(BaseId base) { tensors_[static_cast<std::size_t>(base)] = Tensor(); }
  void drop_view(OperandId id) { views_[static_cast<std::size_t>(id)] = Tensor(); }
  /// Keeps a tensor that a launched kernel reads alive until the call ends.
  void keep(Tensor tensor) { kept_.push_back(std::move(tensor)); }

  /// The caller's current stream, asked for once per call and device.
  void* stream(const Device& device);

  TensorHost& host;

 private:
  const std::vector<Operand>& operands_;
  std::span<const Tensor* const> inputs_;
  std::vector<Tensor> tensors_;  // by BaseId; empty for inputs
  std::vector<void*> data_;      // by BaseId
  std::vector<Tensor> views_;    // by OperandId
  std::vector<Tensor> kept_;
  Device stream_device_;
  void* stream_ = nullptr;
};

}  // namespace cudaagent::runtime
