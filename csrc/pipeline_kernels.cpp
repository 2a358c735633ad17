#include "pipeline_kernels.h"

#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace cudaagent {

namespace {

cache::Key binary_key(const codegen::Source& source, const codegen::Target& target, const std::string& toolchain) {
  cache::Key key;
  key.kind = source.language == codegen::Language::host ? cache::Kind::host_binary : cache::Kind::binary;
  key.fields = {{"source", sha256(source.text)}, {"arch", target.arch}, {"toolchain", toolchain}};
  return key;
}

std::string pack(const jit::Binary& binary) {
  Json head = {{"arch", binary.arch}, {"log", binary.log}, {"seconds", binary.seconds}, {"resources", Json::array()}};
  for (const jit::Resources& r : binary.resources) {
    head["resources"].push_back({{"kernel", r.kernel},
                                 {"registers", r.registers},
                                 {"spill_bytes", r.spill_bytes},
                                 {"stack_bytes", r.stack_bytes},
                                 {"shared_bytes", r.shared_bytes}});
  }
  return head.dump() + '\n' + binary.image;
}

std::optional<jit::Binary> unpack(const std::string& payload, codegen::Language language) {
  const std::size_t end = payload.find('\n');
  if (end == std::string::npos) return std::nullopt;
  const Json head = Json::parse(payload.substr(0, end), nullptr, false);
  if (!head.is_object() || !head.contains("resources")) return std::nullopt;
  jit::Binary binary;
  binary.language = language;
  binary.arch = head.value("arch", "");
  binary.log = head.value("log", "");
  binary.seconds = head.value("seconds", 0.0);
  for (const Json& r : head["resources"]) {
    binary.resources.push_back({r.value("kernel", ""), r.value("registers", 0), r.value("spill_bytes", 0),
                                r.value("stack_bytes", 0), r.value("shared_bytes", 0)});
  }
  binary.image = payload.substr(end + 1);
  return binary;
}

// A record holds the candidate that was accepted for this body; without one the analytic model chooses.
cache::Key candidate_key(const std::string& fingerprint, const codegen::Target& target, const Options& options) {
  cache::Key key;
  key.kind = cache::Kind::record;
  key.fields = {{"what", "candidate"},
                {"body", fingerprint},
                {"arch", target.arch},
                {"precision", std::to_string(static_cast<int>(options.precision))},
                {"codegen", codegen::version()}};
  return key;
}

codegen::Candidate find_candidate(const schedule::Region& region, const std::string& fingerprint,
                                  const codegen::Target& target, const Options& options, const cache::Store& store) {
  if (const auto entry = store.get(candidate_key(fingerprint, target, options))) {
    try {
      return Json::parse(entry->payload).get<codegen::Candidate>();
    } catch (const Json::exception& error) {  // written by another version: choose anew
      log(LogLevel::info, std::string("cache: unreadable candidate record: ") + error.what());
    }
  }
  return codegen::choose(region.body, target);
}

void write_source(const schedule::Region& region, const codegen::Target& target, const Options& options,
                  const cache::Store& store, Built& built) {
  built.candidate = find_candidate(region, built.fingerprint, target, options, store);
  auto source = codegen::generate(region.body, built.candidate, target, region.name);
  if (source) {
    built.source = std::move(source.value());
  } else {
    built.rejection = source.rejection().stage + ": " + source.rejection().reason;
    built.log = source.rejection().log;
  }
}

int compile_jobs() { return static_cast<int>(std::max(1u, std::min(8u, std::thread::hardware_concurrency()))); }

void keep(Outcome<jit::Binary>& outcome, Built& built) {
  if (outcome) {
    built.binary = std::move(outcome.value());
    return;
  }
  built.rejection = outcome.rejection().stage + ": " + outcome.rejection().reason;
  built.log = outcome.rejection().log;
  log(LogLevel::debug, built.rejection + "\n" + built.log);
}

void compile_sources(const std::vector<Built*>& kernels, const codegen::Target& target, const Options& options) {
  std::vector<codegen::Source> sources;
  for (const Built* built : kernels) sources.push_back(built->source);
  auto binaries = jit::compile_all(sources, target, options, compile_jobs());
  for (std::size_t i = 0; i < kernels.size(); ++i) keep(binaries[i], *kernels[i]);
}

}  // namespace

void build_kernels(const schedule::Plan& plan, const codegen::Target& target, const Options& options,
                   cache::Store& store, BuiltMap& built, CacheCounts& counts) {
  const std::string toolchain = jit::toolchain_key(target, options);
  std::vector<Built*> missing;
  for (const schedule::Region& region : plan.regions) {
    if (region.kind != schedule::RegionKind::generated) continue;
    const std::string fingerprint = schedule::fingerprint(region.body);
    auto& slot = built[fingerprint];
    if (slot) continue;
    slot = std::make_shared<Built>();
    slot->fingerprint = fingerprint;
    write_source(region, target, options, store, *slot);
    if (!slot->rejection.empty()) continue;
    const cache::Key key = binary_key(slot->source, target, toolchain);
    slot->binary_key = key.digest();
    if (const auto entry = store.get(key)) {
      if (auto binary = unpack(entry->payload, target.language)) {
        slot->binary = std::move(*binary);
        slot->binary_from_cache = true;
        ++counts.binary_hits;
        continue;
      }
    }
    ++counts.binary_misses;
    missing.push_back(slot.get());
  }
  if (missing.empty()) return;
  compile_sources(missing, target, options);
  for (const Built* built : missing) {
    if (built->rejection.empty()) store.put(binary_key(built->source, target, toolchain), pack(built->binary));
  }
}

void compile_kernels(const std::vector<std::shared_ptr<Built>>& kernels, const codegen::Target& target,
                     const Options& options) {
  const std::string toolchain = jit::toolchain_key(target, options);
  std::vector<Built*> wanted;
  for (const std::shared_ptr<Built>& built : kernels) {
    if (!built->rejection.empty()) continue;
    built->binary_key = binary_key(built->source, target, toolchain).digest();
    wanted.push_back(built.get());
  }
  if (!wanted.empty()) compile_sources(wanted, target, options);
}

void store_candidate(const Built& winner, const codegen::Target& target, const Options& options, cache::Store& store) {
  store.put(candidate_key(winner.fingerprint, target, options), Json(winner.candidate).dump());
  store.put(binary_key(winner.source, target, jit::toolchain_key(target, options)), pack(winner.binary));
}

Outcome<std::shared_ptr<runtime::Kernel>> load_kernel(Built& built, const Device& device) {
  if (built.kernel) return built.kernel;
  static std::mutex mutex;
  static std::map<std::pair<std::string, int>, std::weak_ptr<jit::Module>> loaded;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& slot = loaded[{built.binary_key, device.type == DeviceType::cuda ? device.index : -1}];
  std::shared_ptr<jit::Module> module = slot.lock();
  if (!module) {
    auto fresh = jit::load(built.binary, device);
    if (!fresh) return fresh.rejection();
    module = std::move(fresh.value());
    slot = module;
  }
  built.kernel = std::make_shared<runtime::Kernel>(runtime::Kernel{built.source, module});
  return built.kernel;
}

}  // namespace cudaagent
