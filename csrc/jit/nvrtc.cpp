#include "jit/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include "base/files.h"
#include "jit/resource_report.h"

namespace cudaagent::jit {
namespace {

namespace fs = std::filesystem;

using ProgramHandle = struct NvrtcProgram*;

/// The functions used, by their exported names.
struct Nvrtc {
  int (*nvrtcVersion)(int* major, int* minor) = nullptr;
  const char* (*nvrtcGetErrorString)(int result) = nullptr;
  int (*nvrtcCreateProgram)(ProgramHandle* program, const char* source, const char* name, int count,
                            const char* const* headers, const char* const* names) = nullptr;
  int (*nvrtcCompileProgram)(ProgramHandle program, int count, const char* const* options) = nullptr;
  int (*nvrtcDestroyProgram)(ProgramHandle* program) = nullptr;
  int (*nvrtcGetProgramLogSize)(ProgramHandle program, std::size_t* bytes) = nullptr;
  int (*nvrtcGetProgramLog)(ProgramHandle program, char* text) = nullptr;
  int (*nvrtcGetCUBINSize)(ProgramHandle program, std::size_t* bytes) = nullptr;
  int (*nvrtcGetCUBIN)(ProgramHandle program, char* image) = nullptr;
};

/// NVRTC opens its builtins by bare name, which works only if they are loaded already: from its own folder.
void preload_builtins(const std::string& nvrtc_path) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fs::path(nvrtc_path).parent_path(), ignored)) {
    std::string name = entry.path().filename().string();
    if (name.rfind("libnvrtc-builtins.so", 0) == 0) dlopen(entry.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
}

/// The library at `path`, or the copy this process holds already.
void* open_library(const std::string& path) {
  if (!path.empty()) {
    preload_builtins(path);
    return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return library;
  }
  return nullptr;
}

std::optional<Nvrtc> open_nvrtc(const std::string& path) {
  void* library = open_library(path);
  if (!library) return std::nullopt;
  Nvrtc table;
  bool complete = true;
  auto find = [&](auto& member, const char* symbol) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(library, symbol));
    complete = complete && member;
  };
#define CUDAAGENT_FIND(symbol) find(table.symbol, #symbol)
  CUDAAGENT_FIND(nvrtcVersion);
  CUDAAGENT_FIND(nvrtcGetErrorString);
  CUDAAGENT_FIND(nvrtcCreateProgram);
  CUDAAGENT_FIND(nvrtcCompileProgram);
  CUDAAGENT_FIND(nvrtcDestroyProgram);
  CUDAAGENT_FIND(nvrtcGetProgramLogSize);
  CUDAAGENT_FIND(nvrtcGetProgramLog);
  CUDAAGENT_FIND(nvrtcGetCUBINSize);
  CUDAAGENT_FIND(nvrtcGetCUBIN);
#undef CUDAAGENT_FIND
  return complete ? std::optional(table) : std::nullopt;
}

/// Opened once per path and never closed; null when it is not there. A process that held no NVRTC is asked again, since
/// torch may load its copy later.
const Nvrtc* nvrtc(const Options& options) {
  static std::mutex mutex;
  static std::map<std::string, Nvrtc> opened;
  std::lock_guard lock(mutex);
  auto it = opened.find(options.nvrtc_path);
  if (it == opened.end()) {
    std::optional<Nvrtc> fresh = open_nvrtc(options.nvrtc_path);
    if (!fresh) return nullptr;
    it = opened.emplace(options.nvrtc_path, *fresh).first;
  }
  return &it->second;
}

/// Every header of the prelude's folder, handed over in memory.
struct Headers {
  std::vector<std::string> names, texts;
  std::vector<const char*> name_pointers, text_pointers;
};

Headers read_headers(const std::string& folder) {
  Headers headers;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ".cuh") headers.names.push_back(entry.path().filename().string());
  }
  std::sort(headers.names.begin(), headers.names.end());
  for (const std::string& name : headers.names) headers.texts.push_back(read_file(folder + "/" + name));
  for (const std::string& name : headers.names) headers.name_pointers.push_back(name.c_str());
  for (const std::string& text : headers.texts) headers.text_pointers.push_back(text.c_str());
  return headers;
}

std::vector<std::string> compile_flags(const codegen::Target& target) {
  return {"--gpu-architecture=" + target.arch, "--std=c++17", "-default-device", "--ptxas-options=-v"};
}

class CompiledProgram {
 public:
  CompiledProgram(const Nvrtc& api, const std::string& text, const Headers& headers) : api_(api) {
    check(api.nvrtcCreateProgram(&program_, text.c_str(), "kernel.cu", static_cast<int>(headers.names.size()),
                                 headers.text_pointers.data(), headers.name_pointers.data()));
  }
  CompiledProgram(const CompiledProgram&) = delete;
  CompiledProgram& operator=(const CompiledProgram&) = delete;
  ~CompiledProgram() { api_.nvrtcDestroyProgram(&program_); }

  /// NVRTC's result code; 0 is success.
  int compile(const std::vector<std::string>& flags) {
    std::vector<const char*> pointers;
    for (const std::string& flag : flags) pointers.push_back(flag.c_str());
    return api_.nvrtcCompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
  }
  std::string log() const {
    std::size_t bytes = 0;
    check(api_.nvrtcGetProgramLogSize(program_, &bytes));
    std::string text(bytes, '\0');
    check(api_.nvrtcGetProgramLog(program_, text.data()));
    return text.substr(0, text.find('\0'));
  }
  std::string cubin() const {
    std::size_t bytes = 0;
    check(api_.nvrtcGetCUBINSize(program_, &bytes));
    std::string image(bytes, '\0');
    check(api_.nvrtcGetCUBIN(program_, image.data()));
    return image;
  }

 private:
  void check(int result) const {
    if (result != 0) throw InternalError(std::string("NVRTC failed: ") + api_.nvrtcGetErrorString(result));
  }

  const Nvrtc& api_;
  ProgramHandle program_ = nullptr;
};

}  // namespace

std::string nvrtc_version(const Options& options) {
  const Nvrtc* api = nvrtc(options);
  int major = 0, minor = 0;
  if (!api || api->nvrtcVersion(&major, &minor) != 0) return "";
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string nvrtc_absence(const Options& options) {
  if (nvrtc(options)) return "";
  return "no NVRTC to compile CUDA kernels with" + (options.nvrtc_path.empty() ? "" : " at " + options.nvrtc_path) +
         "; install a CUDA build of torch (`pip install torch`)";
}

std::string nvrtc_toolchain(const codegen::Target& target, const Options& options) {
  std::string version = nvrtc_version(options);
  if (version.empty()) return "";
  std::string key = "nvrtc " + version;
  for (const std::string& flag : compile_flags(target)) key += "\n" + flag;
  return key;
}

Outcome<Binary> compile_cuda(const codegen::Source& source, const codegen::Target& target, const Options& options) {
  const Nvrtc* api = nvrtc(options);
  if (!api) throw UserError(nvrtc_absence(options));
  auto start = std::chrono::steady_clock::now();
  CompiledProgram program(*api, source.text, read_headers(options.prelude_dir));
  int result = program.compile(compile_flags(target));
  std::string log = program.log();
  if (result != 0) {
    return Rejection{"jit", std::string("NVRTC refused the source: ") + api->nvrtcGetErrorString(result),
                     log + "\n--- source ---\n" + source.text};
  }
  Binary binary;
  binary.language = codegen::Language::cuda;
  binary.arch = target.arch;
  binary.image = program.cubin();
  binary.resources = parse_resource_report(log);
  binary.log = without_resource_report(log);
  binary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return binary;
}

}  // namespace cudaagent::jit
