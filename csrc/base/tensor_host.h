// TensorHost: what a room that may not include torch asks of it. The torch bridge implements it over ATen;
// tests implement it over plain memory (tests/support/plain_host.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"

namespace cudaagent {

/// A counted handle to one of the host's tensors. Null means "undefined tensor".
class Tensor {
 public:
  /// Set once by the host before the first Tensor exists.
  struct Hooks {
    void (*retain)(void*) = nullptr;
    void (*release)(void*) = nullptr;
  };
  static Hooks& hooks();

  Tensor() = default;
  /// Takes over one reference that the caller owns.
  static Tensor adopt(void* impl) {
    Tensor tensor;
    tensor.impl_ = impl;
    return tensor;
  }
  Tensor(const Tensor& other) : impl_(other.impl_) {
    if (impl_) hooks().retain(impl_);
  }
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  ~Tensor() {
    if (impl_) hooks().release(impl_);
  }

  explicit operator bool() const { return impl_ != nullptr; }
  void* get() const { return impl_; }
  /// Gives the reference away.
  void* release() { return std::exchange(impl_, nullptr); }

 private:
  void* impl_ = nullptr;
};

/// One operator call with its constants converted once; only tensors change between runs.
class ExternCall {
 public:
  virtual ~ExternCall() = default;
  /// `inputs[k]` is the tensor of Ref{k}. One Tensor per schema return (lists flattened); a non-tensor
  /// return is an undefined Tensor. An error raised by the operator passes through as the host's own exception.
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs) = 0;
};

class TensorHost {
 public:
  virtual ~TensorHost() = default;

  /// `op` is "namespace::name.overload"; references in `args` are positions. Arguments left out take the schema's
  /// default. A Python number in a Tensor slot becomes a wrapped number, as eager does.
  /// Throws UserError when no such operator is registered.
  virtual std::unique_ptr<ExternCall> prepare(const std::string& op, const std::vector<NamedArg>& args) = 0;

  /// Uninitialised tensor of that type, from the caching allocator of its device.
  virtual Tensor empty(const TensorType& type) = 0;
  /// A tensor of `type` over the storage of `base`, `byte_offset` past the storage's first byte.
  virtual Tensor view(const Tensor& base, const TensorType& type, std::int64_t byte_offset) = 0;
  /// dst.copy_(src), through the dispatcher, so that the version counter of dst moves.
  virtual void copy(const Tensor& dst, const Tensor& src) = 0;
  /// Another handle on the same storage and metadata (tensor.detach()).
  virtual Tensor alias(const Tensor& tensor) = 0;

  virtual TensorType type(const Tensor& tensor) = 0;
  /// True when dtype, device, dims and strides (of dims over 1) equal `type`. Cheap: the guard of every call.
  virtual bool matches(const Tensor& tensor, const TensorType& type) = 0;
  /// First element (storage offset included).
  virtual void* data(const Tensor& tensor) = 0;
  /// Bytes from the storage's start to the first element.
  virtual std::int64_t storage_offset_bytes(const Tensor& tensor) = 0;

  /// The caller's current stream on that device (CUstream), null for the CPU.
  virtual void* current_stream(const Device& device) = 0;
  /// Runs body(begin, end) over [0, count) on the host's own thread pool, in chunks of at least `grain`.
  virtual void parallel_for(std::int64_t count, std::int64_t grain,
                            const std::function<void(std::int64_t, std::int64_t)>& body) = 0;
  /// Opens a named range in the host's profiler (torch.profiler) for the lifetime of the returned object; null when
  /// nobody is profiling.
  virtual std::shared_ptr<void> profile_range(const std::string& name) = 0;
};

}  // namespace cudaagent
