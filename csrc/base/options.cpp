#include "base/options.h"

#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cudaagent {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string default_cache_dir() {
  if (const std::string set = environment("TORCH_CUDAAGENT_CACHE_DIR"); !set.empty()) return set;
  if (const std::string base = environment("XDG_CACHE_HOME"); !base.empty()) return base + "/torch_cudaagent";
  if (const std::string home = environment("HOME"); !home.empty()) return home + "/.cache/torch_cudaagent";
  return "";
}

constexpr std::array<const char*, 3> precision_names = {"highest", "high", "medium"};

Precision precision_from(const Json& json) {
  for (std::size_t i = 0; i < precision_names.size(); ++i) {
    if (json == precision_names[i]) return static_cast<Precision>(i);
  }
  throw UserError("precision " + json.dump() + " is not supported: use \"highest\", \"high\" or \"medium\"");
}

using Setter = std::function<void(Options&, const Json&)>;

template <class T>
Setter set(T Options::* field) {
  return [field](Options& options, const Json& json) { options.*field = json.get<T>(); };
}

const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> table = {
      {"precision", [](Options& options, const Json& json) { options.precision = precision_from(json); }},
      {"verify", set(&Options::verify)},
      {"measure", set(&Options::measure)},
      {"search", set(&Options::search)},
      {"assume_finite", set(&Options::assume_finite)},
      {"freeze", set(&Options::freeze)},
      {"seed", set(&Options::seed)},
      {"verify_timeout_s", set(&Options::verify_timeout_s)},
      {"cache_dir", set(&Options::cache_dir)},
      {"cache_layers", set(&Options::cache_layers)},
      {"judge_path", set(&Options::judge_path)},
      {"nvrtc_path", set(&Options::nvrtc_path)},
      {"cxx", set(&Options::cxx)},
      {"prelude_dir", set(&Options::prelude_dir)},
      {"cuda_arch", set(&Options::cuda_arch)},
      {"dump_dir", set(&Options::dump_dir)},
  };
  return table;
}

std::string known_keys() {
  std::string text;
  for (const auto& [key, setter] : setters()) text += (text.empty() ? "" : ", ") + key;
  return text;
}

}  // namespace

Options options_from_json(const Json& json) {
  if (!json.is_object() && !json.is_null()) throw UserError("options are a JSON object of: " + known_keys());
  Options options;
  options.cache_dir = default_cache_dir();
  options.cxx = environment("TORCH_CUDAAGENT_CXX");
  options.dump_dir = environment("TORCH_CUDAAGENT_DUMP_DIR");
  for (const auto& [key, value] : json.items()) {
    const auto setter = setters().find(key);
    if (setter == setters().end()) throw UserError("option '" + key + "' is unknown: use one of " + known_keys());
    try {
      setter->second(options, value);
    } catch (const Json::exception&) {
      throw UserError("option '" + key + "' cannot be " + value.dump() +
                      ": see the list of options in the documentation");
    }
  }
  if (options.cxx.empty()) options.cxx = "g++";
  if (!(options.verify_timeout_s > 0)) throw UserError("option 'verify_timeout_s' must be above 0");
  return options;
}

void to_json(Json& json, const Options& options) {
  json = Json{{"precision", precision_names.at(static_cast<std::size_t>(options.precision))},
              {"verify", options.verify},
              {"measure", options.measure},
              {"search", options.search},
              {"assume_finite", options.assume_finite},
              {"freeze", options.freeze},
              {"seed", options.seed},
              {"verify_timeout_s", options.verify_timeout_s},
              {"cache_dir", options.cache_dir},
              {"cache_layers", options.cache_layers},
              {"judge_path", options.judge_path},
              {"nvrtc_path", options.nvrtc_path},
              {"cxx", options.cxx},
              {"prelude_dir", options.prelude_dir},
              {"cuda_arch", options.cuda_arch},
              {"dump_dir", options.dump_dir}};
}

std::vector<std::string> child_environment() {
  // What the loader, the driver's choice of device and a sanitizer build need; nothing else crosses over.
  constexpr const char* allowed[] = {"PATH",
                                     "LD_LIBRARY_PATH",
                                     "TMPDIR",
                                     "CUDA_VISIBLE_DEVICES",
                                     "CUDA_DEVICE_ORDER",
                                     "CUDA_MPS_PIPE_DIRECTORY",
                                     "NVIDIA_VISIBLE_DEVICES",
                                     "NVIDIA_DRIVER_CAPABILITIES",
                                     "ASAN_OPTIONS",
                                     "UBSAN_OPTIONS"};
  std::vector<std::string> variables;
  for (const char* name : allowed) {
    if (const char* value = std::getenv(name)) variables.push_back(std::string(name) + "=" + value);
  }
  variables.push_back("CUDA_CACHE_DISABLE=1");
  return variables;
}

}  // namespace cudaagent
