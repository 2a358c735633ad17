#include <dlfcn.h>

#include "base/files.h"
#include "jit/driver_handles.h"
#include "jit/jit.h"

namespace cudaagent::jit {
namespace {

class HostModule : public Module {
 public:
  explicit HostModule(void* library) : library_(library) {}
  HostModule(const HostModule&) = delete;
  HostModule& operator=(const HostModule&) = delete;
  ~HostModule() override { dlclose(library_); }

  void* kernel(const std::string& name) override {
    void* symbol = dlsym(library_, name.c_str());
    if (!symbol) throw InternalError("the shared object holds no kernel " + name);
    return symbol;
  }

 private:
  void* library_;
};

Outcome<std::unique_ptr<Module>> load_host(const Binary& binary) {
  TempFolder folder;
  // The folder's random name makes the path unique: the loader would hand out an older library of the same path.
  std::string path = folder.file("kernel.so");
  write_file(path, binary.image);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    return Rejection{"jit", "the shared object does not load; if TMPDIR is mounted noexec, set it to another folder",
                     why ? why : ""};
  }
  return std::unique_ptr<Module>(std::make_unique<HostModule>(library));
}

class CudaModule : public Module {
 public:
  CudaModule(PrimaryContext context, OwnedModule module, int shared_limit)
      : context_(std::move(context)), module_(std::move(module)), shared_limit_(shared_limit) {}
  ~CudaModule() override {
    CUcontext before = nullptr;
    driver()->context_get(&before);
    driver()->context_set(context_.get());
    module_ = OwnedModule();
    driver()->context_set(before);
  }

  void* kernel(const std::string& name) override {
    ScopedContext current(context_);
    const Driver& d = require_driver();
    CUfunction function = nullptr;
    CUDAAGENT_CHECK(d.module_function(&function, module_.get(), name.c_str()));
    // Raised once here, to all the kernel may have, so that a launch costs no attribute call.
    int shared = 0;
    CUDAAGENT_CHECK(d.function_get(&shared, cu::function_shared_bytes, function));
    CUDAAGENT_CHECK(d.function_set(function, cu::function_max_dynamic_shared, shared_limit_ - shared));
    // Clusters above 8 blocks exist from sm_90 on; an older card refuses the attribute and no kernel there asks for
    // one.
    static_cast<void>(d.function_set(function, cu::function_non_portable_cluster, 1));
    return function;
  }

 private:
  PrimaryContext context_;
  OwnedModule module_;
  int shared_limit_;
};

Outcome<std::unique_ptr<Module>> load_cuda(const Binary& binary, const Device& device) {
  if (!driver()) return Rejection{"jit", driver_absence(), ""};
  const Driver& d = *driver();
  PrimaryContext context(device.index);
  ScopedContext current(context);
  CUmodule loaded = nullptr;
  CUDAAGENT_CHECK_OR_REJECT(d.module_load(&loaded, binary.image.data()));
  OwnedModule module(loaded);
  int shared_limit = 0;
  CUDAAGENT_CHECK(d.device_attribute(&shared_limit, cu::attribute_max_shared_per_block_optin, context.device()));
  return std::unique_ptr<Module>(std::make_unique<CudaModule>(std::move(context), std::move(module), shared_limit));
}

}  // namespace

Outcome<std::unique_ptr<Module>> load(const Binary& binary, const Device& device) {
  return binary.language == codegen::Language::host ? load_host(binary) : load_cuda(binary, device);
}

}  // namespace cudaagent::jit
