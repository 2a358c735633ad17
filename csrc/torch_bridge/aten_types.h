// Between the host's plain types and ATen's.
#pragma once

#include <ATen/core/Tensor.h>

#include "base/base.h"

namespace cudaagent::bridge {

/// Throws UserError on DType::other.
c10::ScalarType scalar_type(DType dtype);
DType dtype_of(c10::ScalarType type);
/// Throws UserError on a device type the host does not know.
c10::Device aten_device(const Device& device);
Device device_of(const c10::Device& device);
c10::Layout aten_layout(const Layout& layout);
c10::MemoryFormat aten_memory_format(const MemoryFormat& format);

inline c10::TensorImpl* impl_of(const Tensor& tensor) { return static_cast<c10::TensorImpl*>(tensor.get()); }

/// Another reference to the same tensor, as ATen holds it.
inline at::Tensor to_aten(const Tensor& tensor) {
  if (!tensor) return {};
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(impl_of(tensor)));
}
inline Tensor from_aten(at::Tensor tensor) {
  return tensor.defined() ? Tensor::adopt(tensor.unsafeReleaseTensorImpl()) : Tensor();
}

}  // namespace cudaagent::bridge
