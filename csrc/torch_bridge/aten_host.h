// TensorHost over ATen: what the rooms without torch ask of it. A Tensor's handle is a c10::TensorImpl.
#pragma once

#include "base/base.h"

namespace cudaagent::bridge {

class AtenHost : public TensorHost {
 public:
  /// The one host of the process; the first call installs the hooks of Tensor.
  static AtenHost& get();

  std::unique_ptr<ExternCall> prepare(const std::string& op, const std::vector<NamedArg>& args) override;
  Tensor empty(const TensorType& type) override;
  /// Shares the version counter of `base`, as a view of eager's does.
  Tensor view(const Tensor& base, const TensorType& type, std::int64_t byte_offset) override;
  void copy(const Tensor& dst, const Tensor& src) override;
  Tensor alias(const Tensor& tensor) override;
  TensorType type(const Tensor& tensor) override;
  /// False, too, for a tensor whose memory does not hold its values as they are: a lazy conjugate or negation, a
  /// sparse, quantized or nested tensor, a subclass, a tensor inside a functorch transform.
  bool matches(const Tensor& tensor, const TensorType& type) override;
  void* data(const Tensor& tensor) override;
  std::int64_t storage_offset_bytes(const Tensor& tensor) override;
  void* current_stream(const Device& device) override;
  void parallel_for(std::int64_t count, std::int64_t grain,
                    const std::function<void(std::int64_t, std::int64_t)>& body) override;
  std::shared_ptr<void> profile_range(const std::string& name) override;

 private:
  AtenHost();
};

}  // namespace cudaagent::bridge
