#include "torch_bridge/aten_host.h"

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "torch_bridge/aten_types.h"
#include "torch_bridge/block_cache.h"
#include "torch_bridge/extern_call.h"

namespace cudaagent::bridge {

namespace {

// With one of these the storage does not hold the tensor's values as they are.
constexpr c10::DispatchKeySet indirect_keys =
    c10::sparse_ks | c10::sparse_csr_ks | c10::mkldnn_ks | c10::python_ks |
    c10::DispatchKeySet({c10::DispatchKey::Conjugate, c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor,
                         c10::DispatchKey::Quantized, c10::DispatchKey::NestedTensor,
                         c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::FuncTorchGradWrapper,
                         c10::DispatchKey::Functionalize});

bool same_device(const c10::Device& actual, const Device& expected) {
  if (expected.type == DeviceType::cuda) return actual.is_cuda() && actual.index() == expected.index;
  return expected.type == DeviceType::cpu ? actual.is_cpu() : actual.is_meta();
}

Tensor empty_cpu(const TensorType& type, c10::ScalarType dtype) {
  const std::size_t bytes = at::detail::computeStorageNbytes(type.dims, type.strides, c10::elementSize(dtype));
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, BlockCache::get().allocate(bytes),
                       c10::GetCPUAllocator(), /*resizable=*/true);
  auto impl = c10::make_intrusive<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                   caffe2::TypeMeta::fromScalarType(dtype));
  impl->set_sizes_and_strides(type.dims, type.strides);
  return Tensor::adopt(impl.release());
}

}  // namespace

AtenHost& AtenHost::get() {
  static AtenHost host;
  return host;
}

AtenHost::AtenHost() {
  Tensor::hooks().retain = [](void* impl) { c10::raw::intrusive_ptr::incref(static_cast<c10::TensorImpl*>(impl)); };
  Tensor::hooks().release = [](void* impl) { c10::raw::intrusive_ptr::decref(static_cast<c10::TensorImpl*>(impl)); };
}

std::unique_ptr<ExternCall> AtenHost::prepare(const std::string& op, const std::vector<NamedArg>& args) {
  return prepare_extern(op, args);
}

Tensor AtenHost::empty(const TensorType& type) {
  const c10::ScalarType dtype = scalar_type(type.dtype);
  if (type.device.type == DeviceType::cpu) return empty_cpu(type, dtype);
  const c10::Device device = aten_device(type.device);
  if (device.is_meta()) return from_aten(at::Tensor(at::detail::empty_strided_meta(type.dims, type.strides, dtype)));
  const c10::DeviceGuard guard(device);
  return from_aten(at::Tensor(at::detail::empty_strided_generic(
      type.dims, type.strides, c10::GetAllocator(device.type()), c10::DispatchKeySet(c10::DispatchKey::CUDA), dtype)));
}

Tensor AtenHost::view(const Tensor& base, const TensorType& type, std::int64_t byte_offset) {
  const c10::TensorImpl* from = impl_of(base);
  auto impl =
      c10::make_intrusive<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(from->storage()), from->key_set(),
                                           caffe2::TypeMeta::fromScalarType(scalar_type(type.dtype)));
  impl->set_sizes_and_strides(type.dims, type.strides, byte_offset / dtype_size(type.dtype));
  if (!impl->is_inference()) impl->set_version_counter(from->version_counter());
  return Tensor::adopt(impl.release());
}

void AtenHost::copy(const Tensor& dst, const Tensor& src) {
  at::Tensor target = to_aten(dst);
  at::_ops::copy_::call(target, to_aten(src), /*non_blocking=*/false);
}

Tensor AtenHost::alias(const Tensor& tensor) {
  const c10::TensorImpl* impl = impl_of(tensor);
  return Tensor::adopt(
      impl->shallow_copy_and_detach(impl->version_counter(), /*allow_tensor_metadata_change=*/true).release());
}

TensorType AtenHost::type(const Tensor& tensor) {
  const c10::TensorImpl* impl = impl_of(tensor);
  TensorType type;
  type.dtype = dtype_of(c10::typeMetaToScalarType(impl->dtype()));
  type.dims = impl->sizes().vec();
  const bool strided = impl->layout() == c10::Layout::Strided && !impl->key_set().has(c10::DispatchKey::NestedTensor);
  type.strides = strided ? impl->strides().vec() : contiguous_strides(type.dims);
  type.device = device_of(impl->device());
  return type;
}

bool AtenHost::matches(const Tensor& tensor, const TensorType& type) {
  const c10::TensorImpl* impl = impl_of(tensor);
  if (impl->key_set().has_any(indirect_keys)) return false;
  if (impl->dtype() != caffe2::TypeMeta::fromScalarType(scalar_type(type.dtype))) return false;
  if (!same_device(impl->device(), type.device)) return false;
  const c10::IntArrayRef dims = impl->sizes();
  if (!dims.equals(type.dims)) return false;
  if (impl->numel() == 0) return true;
  const c10::IntArrayRef strides = impl->strides();
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] > 1 && strides[d] != type.strides[d]) return false;
  }
  return true;
}

void* AtenHost::data(const Tensor& tensor) {
  const c10::TensorImpl* impl = impl_of(tensor);
  // The pointer is written through only where the storage is of our own making, so a copy-on-write storage stays lazy.
  auto* first = const_cast<std::byte*>(static_cast<const std::byte*>(impl->unsafe_storage().data()));
  return first ? first + storage_offset_bytes(tensor) : nullptr;
}

std::int64_t AtenHost::storage_offset_bytes(const Tensor& tensor) {
  const c10::TensorImpl* impl = impl_of(tensor);
  return impl->storage_offset() * static_cast<std::int64_t>(impl->itemsize());
}

void* AtenHost::current_stream(const Device& device) {
  if (device.type != DeviceType::cuda) return nullptr;
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  return guard.getStreamNativeHandle(guard.getStream(aten_device(device)));
}

void AtenHost::parallel_for(std::int64_t count, std::int64_t grain,
                            const std::function<void(std::int64_t, std::int64_t)>& body) {
  at::parallel_for(0, count, grain, body);
}

std::shared_ptr<void> AtenHost::profile_range(const std::string& name) {
  auto callbacks = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION);
  if (!callbacks) return nullptr;
  auto range = std::make_shared<at::RecordFunction>(std::move(*callbacks));
  range->before(std::string(name));
  return range;
}

}  // namespace cudaagent::bridge
