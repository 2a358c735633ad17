#include "pipeline_kernels.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace cudaagent {

namespace {

cache::Key key_of(const codegen::Source& source, const Workshop& shop) {
  cache::Key key;
  key.kind = source.language == codegen::Language::host ? cache::Kind::host_binary : cache::Kind::binary;
  key.fields = {{"source", sha256(source.text)}, {"arch", shop.target.arch}, {"toolchain", shop.toolchain}};
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

// Throws Json::exception when the head says something else.
jit::Binary unpack(const std::string& payload, codegen::Language language) {
  const std::size_t end = std::min(payload.find('\n'), payload.size());
  const Json head = Json::parse(payload.substr(0, end));
  jit::Binary binary;
  binary.language = language;
  binary.arch = head.at("arch").get<std::string>();
  binary.log = head.at("log").get<std::string>();
  binary.seconds = head.at("seconds").get<double>();
  for (const Json& r : head.at("resources")) {
    binary.resources.push_back(
        {r.at("kernel"), r.at("registers"), r.at("spill_bytes"), r.at("stack_bytes"), r.at("shared_bytes")});
  }
  binary.image = payload.substr(std::min(end + 1, payload.size()));
  return binary;
}

// A record holds the candidate that was accepted for this body; without one the analytic model chooses.
cache::Key candidate_key(const std::string& fingerprint, const Workshop& shop) {
  cache::Key key;
  key.kind = cache::Kind::record;
  key.fields = {{"what", "candidate"},
                {"body", fingerprint},
                {"arch", shop.target.arch},
                {"precision", std::to_string(static_cast<int>(shop.options.precision))},
                {"codegen", codegen::version()}};
  return key;
}

std::optional<codegen::Candidate> recorded_candidate(const schedule::Region& region, const Workshop& shop,
                                                     const cache::Store& store) {
  const auto entry = store.get(candidate_key(region.fingerprint, shop));
  if (!entry) return std::nullopt;
  try {
    return Json::parse(entry->payload).get<codegen::Candidate>();
  } catch (const Json::exception& error) {  // written by another version
    log(LogLevel::info, std::string("cache: unreadable candidate record: ") + error.what());
    return std::nullopt;
  }
}

// What a record says, unless the generator refuses it: a record outlives what could be generated when it was written.
std::shared_ptr<Built> first_kernel(const schedule::Region& region, const Workshop& shop, const cache::Store& store) {
  if (auto candidate = recorded_candidate(region, shop, store)) {
    auto built = write_source(region, std::move(*candidate), shop);
    if (built->rejection.empty()) return built;
  }
  return write_source(region, codegen::choose(region.body, shop.target), shop);
}

void refuse(Built& built, const Rejection& why) {
  built.rejection = why.stage + ": " + why.reason;
  built.log = why.log;
  log(LogLevel::debug, built.rejection + "\n" + built.log);
}

int compile_jobs() { return static_cast<int>(std::max(1u, std::min(8u, std::thread::hardware_concurrency()))); }

bool recall_binary(Built& built, const Workshop& shop, const cache::Store& store) {
  const auto entry = store.get(built.stored_as);
  if (!entry) return false;
  try {
    built.binary = unpack(entry->payload, shop.target.language);
  } catch (const Json::exception&) {  // written by another version: compile anew
    return false;
  }
  built.binary_from_cache = true;
  return true;
}

}  // namespace

std::shared_ptr<Built> write_source(const schedule::Region& region, codegen::Candidate candidate,
                                    const Workshop& shop) {
  auto built = std::make_shared<Built>();
  built->fingerprint = region.fingerprint;
  built->candidate = std::move(candidate);
  auto source = codegen::generate(region.body, built->candidate, shop.target, region.name);
  if (!source) {
    refuse(*built, source.rejection());
    return built;
  }
  built->source = std::move(source.value());
  built->stored_as = key_of(built->source, shop);
  built->binary_key = built->stored_as.digest();
  return built;
}

Kernels write_sources(const schedule::Plan& plan, const Workshop& shop, const cache::Store& store, BuiltMap& built) {
  Kernels fresh;
  for (const schedule::Region& region : plan.regions) {
    if (region.kind != schedule::RegionKind::generated) continue;
    auto& slot = built[region.fingerprint];
    if (slot) continue;
    slot = first_kernel(region, shop, store);
    fresh.push_back(slot);
  }
  return fresh;
}

void make_binaries(const Kernels& kernels, const Workshop& shop, cache::Store& store, CacheCounts& counts) {
  Kernels missing;
  for (const std::shared_ptr<Built>& built : kernels) {
    if (!built->rejection.empty()) continue;
    const bool found = recall_binary(*built, shop, store);
    ++(found ? counts.binary_hits : counts.binary_misses);
    if (!found) missing.push_back(built);
  }
  compile_kernels(missing, shop);
  for (const std::shared_ptr<Built>& built : missing) {
    if (built->rejection.empty()) store.put(built->stored_as, pack(built->binary));
  }
}

void compile_kernels(const Kernels& kernels, const Workshop& shop) {
  Kernels wanted;
  std::vector<codegen::Source> sources;
  for (const std::shared_ptr<Built>& built : kernels) {
    if (!built->rejection.empty()) continue;
    wanted.push_back(built);
    sources.push_back(built->source);
  }
  auto binaries = jit::compile_all(sources, shop.target, shop.options, compile_jobs());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (binaries[i]) {
      wanted[i]->binary = std::move(binaries[i].value());
    } else {
      refuse(*wanted[i], binaries[i].rejection());
    }
  }
}

void store_candidate(const Built& winner, const Workshop& shop, cache::Store& store) {
  store.put(candidate_key(winner.fingerprint, shop), Json(winner.candidate).dump());
  store.put(winner.stored_as, pack(winner.binary));
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
