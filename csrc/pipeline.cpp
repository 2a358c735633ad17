#include "pipeline.h"

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "pipeline_dump.h"
#include "pipeline_report.h"
#include "rewrite/rewrite.h"

namespace cudaagent {

namespace {

// After this many rounds of rejections everything still unproved stays with eager.
constexpr int most_rounds = 8;

class Walk {
 public:
  Walk(const ir::Graph& captured, const Options& options, TensorHost* host)
      : captured_(captured),
        dump_(captured, options),
        shop_(device_of(captured), options),
        store_(options.cache_dir, options.cache_layers) {
    ir::check(captured);
    if (host && (options.verify || options.search > 0)) verdicts_.emplace(shop_, store_, counts_, *host);
  }

  // Rounds until nothing is rejected.
  void run() {
    for (int number = 1; !round(number == most_rounds); ++number) {
    }
  }

  // As far as the schedule, nothing built.
  Json planned() {
    rewritten_ = rewrite::rewrite(captured_, shop_.options, keep_);
    plan_ = schedule::schedule(rewritten_.graph, shop_.machine(), shop_.options);
    return report_plan(captured_, plan_);
  }

  std::unique_ptr<runtime::Program> program(const std::vector<bool>& bound, TensorHost& host) {
    std::vector<std::shared_ptr<runtime::Kernel>> kernels;
    for (const schedule::Region& region : plan_.regions) {
      const bool generated = region.kind == schedule::RegionKind::generated;
      kernels.push_back(generated ? load_kernel(*built_.at(region.fingerprint), shop_.device).value() : nullptr);
    }
    std::unique_ptr<runtime::Program> program;
    in_room("runtime", [&] { program = runtime::make_program(plan_, kernels, bound, host); });
    return program;
  }

  Json report() const {
    const Verdicts* verdicts = verdicts_ ? &*verdicts_ : nullptr;
    Json report =
        make_report({captured_, plan_, rewritten_, built_, groups_, verdicts, counts_, store_, timings_, shop_});
    dump_.report(report);
    return report;
  }

 private:
  // One round through the rooms. True when nothing was rejected.
  bool round(bool last) {
    const Options& options = shop_.options;
    in_room("rewrite", [&] { rewritten_ = rewrite::rewrite(captured_, options, keep_); });
    dump_.rewritten(rewritten_.graph);
    in_room("schedule", [&] { plan_ = schedule::schedule(rewritten_.graph, shop_.machine(), options); });
    Kernels fresh;
    in_room("codegen", [&] { fresh = write_sources(plan_, shop_, store_, built_); });
    dump_.sources(fresh);
    in_room("jit", [&] { make_binaries(fresh, shop_, store_, counts_); });
    in_room("claims", [&] { groups_ = group_claims(captured_, plan_); });
    if (verdicts_) prove();
    return !reject(last);
  }

  void prove() {
    const Round now{plan_, groups_, built_};
    const bool proved = shop_.options.verify;
    if (proved) in_room("verify", [&] { verdicts_->judge(now); });
    if (proved && shop_.options.measure) in_room("measure", [&] { verdicts_->measure(now); });
    if (shop_.options.search > 0) in_room("search", [&] { verdicts_->search(now); });
  }

  void in_room(const char* room, const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    timings_[room] += took.count();
    log(LogLevel::debug, std::string(room) + ": " + std::to_string(took.count()) + " s");
  }

  // Why this group may not be installed; empty when it may.
  std::string objection(const ProofGroup& group) const {
    const std::string rejection = rejection_of(group, built_);
    return rejection.empty() && verdicts_ ? verdicts_->objection(group) : rejection;
  }

  // Sends the captured nodes of rejected groups back to eager. True when something was rejected.
  bool reject(bool last) {
    const std::size_t before = keep_.size();
    for (const ProofGroup& group : groups_) {
      if (const std::string why = objection(group); !why.empty()) give_up(group, why);
    }
    if (keep_.size() == before) return false;
    if (last) {
      for (std::size_t n = 0; n < captured_.nodes.size(); ++n) {
        keep_.try_emplace(static_cast<std::int32_t>(n), "too many kernels of this graph were rejected");
      }
    }
    return true;
  }

  void give_up(const ProofGroup& group, const std::string& why) {
    log(LogLevel::info, "rejected " + plan_.regions[static_cast<std::size_t>(group.regions[0])].name + ": " + why);
    for (const std::int32_t r : group.regions) {
      for (const std::int32_t node : plan_.regions[static_cast<std::size_t>(r)].nodes) {
        const std::int32_t origin = plan_.graph.nodes[static_cast<std::size_t>(node)].origin;
        if (origin >= 0) keep_.try_emplace(origin, why);
      }
    }
  }

  const ir::Graph& captured_;
  Dump dump_;
  Workshop shop_;
  cache::Store store_;
  std::map<std::int32_t, std::string> keep_;
  rewrite::Result rewritten_;
  schedule::Plan plan_;
  BuiltMap built_;
  std::vector<ProofGroup> groups_;
  CacheCounts counts_;
  std::optional<Verdicts> verdicts_;
  std::map<std::string, double> timings_;
};

}  // namespace

Optimized optimize(const ir::Graph& captured, const std::vector<bool>& bound, const Options& options,
                   TensorHost& host) {
  Walk walk(captured, options, &host);
  walk.run();
  Optimized optimized;
  optimized.program = walk.program(bound, host);
  optimized.report = walk.report();
  return optimized;
}

Json compile_only(const ir::Graph& captured, const Options& options) {
  Walk walk(captured, options, nullptr);
  walk.run();
  return walk.report();
}

Json plan_only(const ir::Graph& captured, const Options& options) { return Walk(captured, options, nullptr).planned(); }

}  // namespace cudaagent
