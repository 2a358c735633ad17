#include "pipeline.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "pipeline_claims.h"
#include "pipeline_kernels.h"
#include "pipeline_measure.h"
#include "pipeline_report.h"
#include "rewrite/rewrite.h"

namespace cudaagent {

namespace {

// After this many rounds of rejections everything still unproved stays with eager.
constexpr int most_rounds = 8;
// A kernel must not be slower than eager beyond the noise of a few interleaved runs.
constexpr double slower_than_eager = 1.10;

class Walk {
 public:
  Walk(const ir::Graph& captured, const Options& options, TensorHost* host)
      : captured_(captured),
        options_(options),
        host_(host),
        device_(device_of(captured)),
        target_(target_of(device_, options)),
        machine_(machine_of(target_)),
        store_(options.cache_dir, options.cache_layers) {}

  // One round through the rooms. True when nothing was rejected.
  bool round(bool last) {
    in_room("rewrite", [&] { rewritten_ = rewrite::rewrite(captured_, options_, keep_); });
    in_room("schedule", [&] { plan_ = schedule::schedule(rewritten_.graph, machine_, options_); });
    in_room("codegen, jit", [&] { build_kernels(plan_, target_, options_, store_, built_, counts_); });
    in_room("claims", [&] { groups_ = group_claims(captured_, plan_); });
    if (host_ && options_.verify) in_room("verify", [&] { judge_groups(); });
    if (host_ && options_.measure) in_room("measure", [&] { measure_groups(); });
    if (host_ && options_.verify && options_.search > 0) in_room("search", [&] { search_groups(); });
    return !reject(last);
  }

  // Rewritten and scheduled only: what would be generated, and why the rest would not.
  Json planned() {
    rewritten_ = rewrite::rewrite(captured_, options_, keep_);
    plan_ = schedule::schedule(rewritten_.graph, machine_, options_);
    return report_plan(captured_, plan_);
  }

  std::unique_ptr<runtime::Program> program(const std::vector<bool>& bound) {
    std::vector<std::shared_ptr<runtime::Kernel>> kernels;
    for (const schedule::Region& region : plan_.regions) {
      kernels.push_back(region.kind == schedule::RegionKind::generated ? loaded(region) : nullptr);
    }
    std::unique_ptr<runtime::Program> program;
    in_room("runtime", [&] { program = runtime::make_program(plan_, kernels, bound, *host_); });
    return program;
  }

  Json report() const {
    return make_report(
        {captured_, plan_, rewritten_, built_, groups_, verdicts_, attempts_, counts_, timings_, device_, target_});
  }

 private:
  void in_room(const char* room, const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    timings_[room] += took.count();
    log(LogLevel::debug, std::string(room) + ": " + std::to_string(took.count()) + " s");
  }

  std::shared_ptr<runtime::Kernel> loaded(const schedule::Region& region) {
    return load_kernel(*built_.at(schedule::fingerprint(region.body)), device_).value();
  }

  std::vector<std::shared_ptr<runtime::Kernel>> loaded(const ProofGroup& group) {
    std::vector<std::shared_ptr<runtime::Kernel>> kernels;
    for (const std::int32_t r : group.regions) kernels.push_back(loaded(plan_.regions[static_cast<std::size_t>(r)]));
    return kernels;
  }

  bool has_kernels(const ProofGroup& group) const {
    for (const std::int32_t r : group.regions) {
      if (!kernel_of(r).rejection.empty()) return false;
    }
    return true;
  }

  const Built& kernel_of(std::int32_t region) const {
    return *built_.at(schedule::fingerprint(plan_.regions[static_cast<std::size_t>(region)].body));
  }

  // A verdict holds for this claim, these sources and candidates, this precision, this card and driver.
  cache::Key verdict_key(const ProofGroup& group) const {
    std::string sources;
    for (const std::int32_t r : group.regions) sources += kernel_of(r).binary_key;
    cache::Key key;
    key.kind = cache::Kind::record;
    key.fields = {{"what", "verdict"},
                  {"claim", group.key},
                  {"kernels", sha256(sources)},
                  {"precision", std::to_string(static_cast<int>(options_.precision))},
                  {"device", device_key(device_, options_)}};
    return key;
  }

  bool recall(const ProofGroup& group) {
    const auto entry = store_.get(verdict_key(group));
    if (!entry) return false;
    const Json json = Json::parse(entry->payload, nullptr, false);
    if (json.is_discarded()) return false;
    verdicts_[group.key] = json.get<verify::Verdict>();
    measured_.insert(group.key);
    ++counts_.record_hits;
    return true;
  }

  void judge_groups() {
    std::vector<const ProofGroup*> asked;
    std::vector<verify::Claim> claims;
    for (const ProofGroup& group : groups_) {
      if (verdicts_.count(group.key) || !has_kernels(group)) continue;
      if (!group.untestable.empty()) {
        verdicts_[group.key] = {verify::Status::untested, group.untestable, {}, 0, 0};
        continue;
      }
      if (recall(group)) continue;
      ++counts_.record_misses;
      verdicts_[group.key] = {};
      asked.push_back(&group);
      claims.push_back(make_claim(group, plan_, built_));
    }
    if (claims.empty()) return;
    std::vector<verify::Verdict> verdicts = verify::judge(claims, device_, options_, *host_);
    for (std::size_t i = 0; i < asked.size(); ++i) verdicts_[asked[i]->key] = std::move(verdicts[i]);
  }

  void measure_groups() {
    for (const ProofGroup& group : groups_) {
      const auto it = verdicts_.find(group.key);
      if (it == verdicts_.end() || it->second.status != verify::Status::passed) continue;
      if (!measured_.insert(group.key).second) continue;
      measure_group(group, it->second);
    }
  }

  void measure_group(const ProofGroup& group, verify::Verdict& verdict) {
    constexpr double budget_s = 0.02;
    const Bench bench(group, plan_, device_, *host_);
    const Bench::Times times = bench.compare(bench.kernels(loaded(group)), bench.eager(), budget_s);
    verdict.kernel_us = times.first_us;
    verdict.eager_us = times.second_us;
    store_.put(verdict_key(group), Json(verdict).dump());
  }

  // Tries other candidates of each proved kernel that stands alone; a faster one is proved before it takes the place.
  void search_groups() {
    for (const ProofGroup& group : groups_) {
      const auto it = verdicts_.find(group.key);
      if (group.regions.size() != 1 || it == verdicts_.end() || it->second.status != verify::Status::passed) continue;
      if (!searched_.insert(group.key).second) continue;
      const schedule::Region& region = plan_.regions[static_cast<std::size_t>(group.regions[0])];
      loaded(region);
      auto& slot = built_.at(schedule::fingerprint(region.body));
      SearchResult found = search_candidates(group, plan_, *slot, target_, options_, device_, *host_);
      attempts_[slot->fingerprint] = std::move(found.attempts);
      if (!found.best) continue;
      const std::shared_ptr<Built> incumbent = std::exchange(slot, found.best);
      verify::Verdict verdict = verify::judge({make_claim(group, plan_, built_)}, device_, options_, *host_).at(0);
      if (verdict.status != verify::Status::passed) {
        log(LogLevel::info, "search: " + region.name + ": a faster candidate was not proved: " + verdict.reason);
        slot = incumbent;
        continue;
      }
      measure_group(group, verdict);
      it->second = std::move(verdict);
      store_candidate(*slot, target_, options_, store_);
    }
  }

  // Why this group may not be installed; empty when it may.
  std::string objection(const ProofGroup& group) const {
    for (const std::int32_t r : group.regions) {
      if (!kernel_of(r).rejection.empty()) return kernel_of(r).rejection;
    }
    if (!host_ || !options_.verify) return "";
    const verify::Verdict& verdict = verdicts_.at(group.key);
    if (verdict.status != verify::Status::passed) return "not proved: " + verdict.reason;
    if (options_.measure && verdict.eager_us > 0 && verdict.kernel_us > slower_than_eager * verdict.eager_us) {
      return "slower than eager here";
    }
    return "";
  }

  // Sends the captured nodes of rejected groups back to eager. True when something was rejected.
  bool reject(bool last) {
    const std::size_t before = keep_.size();
    for (const ProofGroup& group : groups_) {
      const std::string why = objection(group);
      if (why.empty()) continue;
      log(LogLevel::info, "rejected " + plan_.regions[static_cast<std::size_t>(group.regions[0])].name + ": " + why);
      for (const std::int32_t r : group.regions) {
        for (const std::int32_t node : plan_.regions[static_cast<std::size_t>(r)].nodes) {
          const std::int32_t origin = plan_.graph.nodes[static_cast<std::size_t>(node)].origin;
          if (origin >= 0) keep_.try_emplace(origin, why);
        }
      }
    }
    if (keep_.size() == before) return false;
    if (last) {
      for (std::size_t n = 0; n < captured_.nodes.size(); ++n) {
        keep_.try_emplace(static_cast<std::int32_t>(n), "too many kernels of this graph were rejected");
      }
    }
    return true;
  }

  const ir::Graph& captured_;
  const Options& options_;
  TensorHost* host_;
  Device device_;
  codegen::Target target_;
  schedule::Machine machine_;
  cache::Store store_;
  std::map<std::int32_t, std::string> keep_;
  rewrite::Result rewritten_;
  schedule::Plan plan_;
  BuiltMap built_;
  std::vector<ProofGroup> groups_;
  std::map<std::string, verify::Verdict> verdicts_;
  std::set<std::string> measured_, searched_;
  std::map<std::string, std::vector<Attempt>> attempts_;
  CacheCounts counts_;
  std::map<std::string, double> timings_;
};

// With a dump folder: the captured graph, the rewritten one and the report, under the captured graph's fingerprint.
void dump(const ir::Graph& captured, const Json& report, const Options& options) {
  if (options.dump_dir.empty()) return;
  const std::filesystem::path folder(options.dump_dir);
  std::filesystem::create_directories(folder);
  const std::string id = ir::fingerprint(captured).substr(0, 12);
  std::ofstream(folder / ("graph_" + id + ".json")) << Json(captured).dump(1);
  std::ofstream(folder / ("report_" + id + ".json")) << report.dump(1);
}

}  // namespace

Optimized optimize(const ir::Graph& captured, const std::vector<bool>& bound, const Options& options,
                   TensorHost& host) {
  ir::check(captured);
  Walk walk(captured, options, &host);
  for (int round = 1; !walk.round(round == most_rounds); ++round) {
  }
  Optimized optimized;
  optimized.program = walk.program(bound);
  optimized.report = walk.report();
  dump(captured, optimized.report, options);
  return optimized;
}

Json compile_only(const ir::Graph& captured, const Options& options) {
  ir::check(captured);
  Walk walk(captured, options, nullptr);
  for (int round = 1; !walk.round(round == most_rounds); ++round) {
  }
  return walk.report();
}

Json plan_only(const ir::Graph& captured, const Options& options) {
  ir::check(captured);
  return Walk(captured, options, nullptr).planned();
}

}  // namespace cudaagent
