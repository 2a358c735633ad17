// Owners of driver objects. Each is made with the device's primary context current, releases in its destructor, moves
// and does not copy. A destructor ignores the driver's answer: at process exit the driver may already be gone.
#pragma once

#include <utility>

#include "jit/driver.h"

namespace cudaagent::jit {

/// The device's primary context (the one torch uses), retained.
class PrimaryContext {
 public:
  explicit PrimaryContext(int ordinal) {
    CUDAAGENT_CHECK(require_driver().device_get(&device_, ordinal));
    CUDAAGENT_CHECK(require_driver().primary_retain(&context_, device_));
  }
  PrimaryContext(PrimaryContext&& other) noexcept
      : device_(other.device_), context_(std::exchange(other.context_, nullptr)) {}
  PrimaryContext& operator=(PrimaryContext&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(context_, other.context_);
    return *this;
  }
  ~PrimaryContext() {
    if (context_) driver()->primary_release(device_);
  }
  CUcontext get() const { return context_; }
  CUdevice device() const { return device_; }

 private:
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

/// Makes a context current for a scope and puts back the one before.
class ScopedContext {
 public:
  explicit ScopedContext(const PrimaryContext& context) {
    CUDAAGENT_CHECK(require_driver().context_get(&before_));
    CUDAAGENT_CHECK(require_driver().context_set(context.get()));
  }
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;
  ~ScopedContext() { driver()->context_set(before_); }

 private:
  CUcontext before_ = nullptr;
};

/// One owned handle, given back by Traits::close.
template <class Traits>
class Owned {
 public:
  using Handle = typename Traits::Handle;
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_) Traits::close(*driver(), handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_{};
};

/// A handle that one function of the driver takes back.
template <class T, auto function>
struct ClosedBy {
  using Handle = T;
  static void close(const Driver& d, Handle handle) { (d.*function)(handle); }
};
using OwnedModule = Owned<ClosedBy<CUmodule, &Driver::module_unload>>;
using DeviceMemory = Owned<ClosedBy<CUdeviceptr, &Driver::free>>;
using Stream = Owned<ClosedBy<CUstream, &Driver::stream_destroy>>;
using Event = Owned<ClosedBy<CUevent, &Driver::event_destroy>>;

/// Throws InternalError when the device has no room.
inline DeviceMemory allocate_device(std::size_t bytes) {
  CUdeviceptr pointer = 0;
  CUDAAGENT_CHECK(require_driver().allocate(&pointer, bytes));
  return DeviceMemory(pointer);
}
inline Stream make_stream() {
  CUstream stream = nullptr;
  CUDAAGENT_CHECK(require_driver().stream_create(&stream, cu::stream_non_blocking));
  return Stream(stream);
}
inline Event make_event() {
  CUevent event = nullptr;
  CUDAAGENT_CHECK(require_driver().event_create(&event, cu::event_default));
  return Event(event);
}
/// Microseconds between two recorded events; waits for the second.
inline double elapsed_us(const Event& start, const Event& end) {
  float milliseconds = 0;
  CUDAAGENT_CHECK(require_driver().event_synchronize(end.get()));
  CUDAAGENT_CHECK(require_driver().event_elapsed(&milliseconds, start.get(), end.get()));
  return 1e3 * milliseconds;
}

}  // namespace cudaagent::jit
