#include "jit/driver.h"

#include <dlfcn.h>

#include <cstring>
#include <utility>

namespace cudaagent::jit {
namespace {

/// Fills the table; the reason when that fails.
std::string open_driver(Driver& table) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "no NVIDIA driver (libcuda.so.1 is not installed)";
#define CUDAAGENT_LOAD(member, symbol, params)                                      \
  table.member = reinterpret_cast<decltype(table.member)>(dlsym(library, #symbol)); \
  if (!table.member) return "the NVIDIA driver is too old (no " #symbol "); version 525 or newer is needed";
  CUDAAGENT_DRIVER_FUNCTIONS(CUDAAGENT_LOAD)
#undef CUDAAGENT_LOAD
  if (CUresult error = table.init(0)) {
    const char* text = nullptr;
    table.error_string(error, &text);
    return std::string("the NVIDIA driver does not start: ") + (text ? text : "unknown error");
  }
  int count = 0;
  if (table.device_count(&count) != cu::success || count == 0) return "the NVIDIA driver sees no GPU";
  return "";
}

const std::pair<Driver, std::string>& opened() {
  static const std::pair<Driver, std::string> state = [] {
    std::pair<Driver, std::string> result;
    result.second = open_driver(result.first);
    return result;
  }();
  return state;
}

}  // namespace

const Driver* driver() { return opened().second.empty() ? &opened().first : nullptr; }

const std::string& driver_absence() { return opened().second; }

const Driver& require_driver() {
  if (!driver()) throw UserError(driver_absence() + "; install one, or optimize the model on the CPU");
  return *driver();
}

std::string driver_error_text(CUresult error) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (const Driver* d = driver()) {
    d->error_name(error, &name);
    d->error_string(error, &text);
  }
  if (!name) return "CUDA error " + std::to_string(error);
  return std::string(name) + ": " + (text ? text : "");
}

void check_driver(CUresult result, const char* call, const char* file, int line) {
  if (result == cu::success) return;
  const char* base = std::strrchr(file, '/');
  throw InternalError(std::string(base ? base + 1 : file) + ":" + std::to_string(line) + ": " + call + " failed with " +
                      driver_error_text(result));
}

Rejection driver_rejection(CUresult result, const char* call) {
  return Rejection{"jit", driver_error_text(result), std::string(call) + " failed"};
}

}  // namespace cudaagent::jit
