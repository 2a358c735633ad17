#include <atomic>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "base/files.h"
#include "jit/host_compiler.h"
#include "jit/jit.h"
#include "jit/nvrtc.h"

namespace cudaagent::jit {
namespace {

/// Of every header a source may reach, the prelude and what it includes.
std::string prelude_hash(codegen::Language language, const Options& options) {
  namespace fs = std::filesystem;
  std::string extension = fs::path(codegen::prelude_name(language)).extension().string();
  std::map<std::string, std::string> texts;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(options.prelude_dir, ignored)) {
    if (entry.path().extension() == extension) texts[entry.path().filename()] = read_file(entry.path());
  }
  std::string joined;
  for (const auto& [name, text] : texts) joined += name + '\0' + text + '\0';
  return sha256(joined);
}

}  // namespace

std::string toolchain_key(const codegen::Target& target, const Options& options) {
  bool host = target.language == codegen::Language::host;
  return sha256((host ? host_toolchain(options) : nvrtc_toolchain(target, options)) + "\n" +
                prelude_hash(target.language, options));
}

Outcome<Binary> compile(const codegen::Source& source, const codegen::Target& target, const Options& options) {
  return source.language == codegen::Language::host ? compile_host(source, options)
                                                    : compile_cuda(source, target, options);
}

std::vector<Outcome<Binary>> compile_all(const std::vector<codegen::Source>& sources, const codegen::Target& target,
                                         const Options& options, int jobs) {
  std::vector<std::optional<Outcome<Binary>>> slots(sources.size());
  std::vector<std::exception_ptr> failures(sources.size());
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      try {
        slots[i].emplace(compile(sources[i], target, options));
      } catch (...) {
        failures[i] = std::current_exception();
        next = sources.size();  // a missing compiler or a full disk fails every source alike
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    std::size_t count = std::min<std::size_t>(sources.size(), static_cast<std::size_t>(std::max(jobs, 1)));
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  std::vector<Outcome<Binary>> results;
  for (auto& slot : slots) results.push_back(std::move(*slot));
  return results;
}

}  // namespace cudaagent::jit
