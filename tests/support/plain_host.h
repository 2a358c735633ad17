// A TensorHost over plain memory, so that rooms are tested with no torch. It knows a handful of ATen operators, written
// as scalar loops: add, sub, mul (Tensor and Scalar), relu, exp, neg, clone, gt.Scalar, to.dtype, _to_copy,
// sum.dim_IntList, argmax, view and empty.memory_format.
#pragma once

#include <atomic>

#include "base/base.h"

namespace cudaagent::testing {

class PlainHost : public TensorHost {
 public:
  PlainHost();

  std::unique_ptr<ExternCall> prepare(const std::string& op, const std::vector<NamedArg>& args) override;
  Tensor empty(const TensorType& type) override;
  Tensor view(const Tensor& base, const TensorType& type, std::int64_t byte_offset) override;
  void copy(const Tensor& dst, const Tensor& src) override;
  Tensor alias(const Tensor& tensor) override;
  TensorType type(const Tensor& tensor) override;
  bool matches(const Tensor& tensor, const TensorType& type) override;
  void* data(const Tensor& tensor) override;
  std::int64_t storage_offset_bytes(const Tensor& tensor) override;
  void* current_stream(const Device& device) override { return nullptr; }
  /// Always in several chunks where `grain` allows it, so that a kernel that ignores its range is found out.
  void parallel_for(std::int64_t count, std::int64_t grain,
                    const std::function<void(std::int64_t, std::int64_t)>& body) override;
  std::shared_ptr<void> profile_range(const std::string& name) override { return nullptr; }

  /// Contiguous CPU tensor holding `values`, rounded to `dtype`.
  Tensor make(DType dtype, const std::vector<std::int64_t>& dims, const std::vector<double>& values);
  /// Elements in logical order.
  std::vector<double> values(const Tensor& tensor);
  /// How often copy() wrote this storage.
  std::int64_t version(const Tensor& tensor) const;

  static std::int64_t live_tensors();  ///< handles' targets not yet freed, over all hosts
  static std::int64_t live_storages();

  std::atomic<std::int64_t> empties{0};  ///< calls of empty()
  std::atomic<std::int64_t> calls{0};    ///< operators run
};

}  // namespace cudaagent::testing
