#include <nlohmann/json.hpp>

#include "jit/driver.h"
#include "jit/host_compiler.h"
#include "jit/jit.h"
#include "jit/nvrtc.h"

namespace cudaagent::jit {
namespace {

int attribute(int id, CUdevice device) {
  int value = 0;
  CUDAAGENT_CHECK(require_driver().device_attribute(&value, id, device));
  return value;
}

Json describe_device(int ordinal) {
  const Driver& d = require_driver();
  CUdevice device = 0;
  CUDAAGENT_CHECK(d.device_get(&device, ordinal));
  char name[256] = {};
  CUDAAGENT_CHECK(d.device_name(name, sizeof name, device));
  int major = attribute(cu::attribute_compute_major, device), minor = attribute(cu::attribute_compute_minor, device);
  return Json{{"name", name},
              {"compute_capability", std::to_string(major) + "." + std::to_string(minor)},
              {"multiprocessors", attribute(cu::attribute_multiprocessors, device)},
              {"l2_bytes", attribute(cu::attribute_l2_bytes, device)},
              {"shared_bytes_per_block", attribute(cu::attribute_max_shared_per_block_optin, device)}};
}

Json describe_driver() {
  if (!driver()) return nullptr;
  int version = 0, count = 0;
  CUDAAGENT_CHECK(driver()->driver_version(&version));
  CUDAAGENT_CHECK(driver()->device_count(&count));
  Json devices = Json::array();
  for (int i = 0; i < count; ++i) devices.push_back(describe_device(i));
  return Json{{"cuda", std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10)},
              {"devices", devices}};
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

Json survey(const Options& options) {
  return Json{{"driver", describe_driver()},
              {"driver_absence", text_or_null(driver_absence())},
              {"nvrtc", text_or_null(nvrtc_version(options))},
              {"nvrtc_absence", text_or_null(nvrtc_absence(options))},
              {"host_compiler", text_or_null(host_compiler_version(options))},
              {"host_compiler_absence", text_or_null(host_compiler_absence(options))}};
}

}  // namespace cudaagent::jit
