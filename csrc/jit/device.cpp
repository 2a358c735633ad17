#include "jit/device.h"

#include "jit/driver.h"

namespace cudaagent::jit {

namespace {

int attribute(int ordinal, int which) {
  CUdevice device = 0;
  int value = 0;
  CUDAAGENT_CHECK(require_driver().device_get(&device, ordinal));
  CUDAAGENT_CHECK(require_driver().device_attribute(&value, which, device));
  return value;
}

}  // namespace

std::string device_arch(int ordinal) {
  if (!driver()) return "sm_90a";
  const int major = attribute(ordinal, cu::attribute_compute_major);
  const int minor = attribute(ordinal, cu::attribute_compute_minor);
  return "sm_" + std::to_string(major) + std::to_string(minor) + (major >= 9 ? "a" : "");
}

int device_units(int ordinal) { return driver() ? attribute(ordinal, cu::attribute_multiprocessors) : 132; }

std::string device_description(int ordinal) {
  CUdevice device = 0;
  char name[128] = {};
  int version = 0;
  CUDAAGENT_CHECK(require_driver().device_get(&device, ordinal));
  CUDAAGENT_CHECK(require_driver().device_name(name, sizeof name, device));
  CUDAAGENT_CHECK(require_driver().driver_version(&version));
  return std::string(name) + ' ' + device_arch(ordinal) + " driver " + std::to_string(version);
}

void synchronize(void* stream) { CUDAAGENT_CHECK(require_driver().stream_synchronize(static_cast<CUstream>(stream))); }

}  // namespace cudaagent::jit
