#include "pipeline_verdicts.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace cudaagent {

namespace {

// A kernel must not be slower than eager beyond the noise of a few interleaved runs.
constexpr double slower_than_eager = 1.10;

Kernels kernels_of(const ProofGroup& group, const BuiltMap& built) {
  Kernels kernels;
  for (const std::string& body : group.bodies) kernels.push_back(built.at(body));
  return kernels;
}

std::vector<std::shared_ptr<runtime::Kernel>> load_all(const Kernels& kernels, const Device& device) {
  std::vector<std::shared_ptr<runtime::Kernel>> loaded;
  for (const std::shared_ptr<Built>& kernel : kernels) loaded.push_back(load_kernel(*kernel, device).value());
  return loaded;
}

}  // namespace

Verdicts::Verdicts(const Workshop& shop, cache::Store& store, CacheCounts& counts, TensorHost& host)
    : shop_(shop), store_(store), counts_(counts), host_(host), proving_ground_(shop.proving_ground()) {}

// A verdict holds for this claim, this contract, these binaries and how they are launched, this precision, this card
// and driver.
cache::Key Verdicts::key_of(const ProofGroup& group, const BuiltMap& built) const {
  std::string sources;
  for (const std::shared_ptr<Built>& kernel : kernels_of(group, built))
    sources += kernel->binary_key + Json(kernel->source).dump();
  cache::Key key;
  key.kind = cache::Kind::record;
  key.fields = {{"what", "verdict"},
                {"contract", verify::contract_version},
                {"claim", group.key},
                {"kernels", sha256(sources)},
                {"precision", std::to_string(static_cast<int>(shop_.options.precision))},
                {"device", proving_ground_}};
  return key;
}

std::optional<verify::Verdict> Verdicts::recall(const ProofGroup& group, const BuiltMap& built) const {
  const auto entry = store_.get(key_of(group, built));
  if (!entry) return std::nullopt;
  try {
    return Json::parse(entry->payload).get<verify::Verdict>();
  } catch (const Json::exception&) {  // written by another version: judge anew
    return std::nullopt;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

// Only what passed is remembered: a claim may also fail by the machine's fault (a hang under load, no memory), and a
// refusal must not outlive that.
void Verdicts::keep(const ProofGroup& group, const BuiltMap& built, const verify::Verdict& verdict) {
  if (verdict.status == verify::Status::passed) store_.put(key_of(group, built), Json(verdict).dump());
}

void Verdicts::judge(const Round& round) {
  std::vector<const ProofGroup*> asked;
  std::vector<verify::Claim> claims;
  for (const ProofGroup& group : round.groups) {
    if (verdicts_.count(group.key) || !rejection_of(group, round.built).empty()) continue;
    verify::Verdict& verdict = verdicts_[group.key];
    if (!group.untestable.empty()) {
      verdict.reason = group.untestable;
      continue;
    }
    if (auto known = recall(group, round.built)) {
      verdict = std::move(*known);
      if (verdict.eager_us > 0) measured_.insert(group.key);
      ++counts_.record_hits;
      continue;
    }
    ++counts_.record_misses;
    asked.push_back(&group);
    claims.push_back(make_claim(group, round.plan, round.built));
  }
  std::vector<verify::Verdict> judged = verify::judge(claims, shop_.device, shop_.options, host_);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    keep(*asked[i], round.built, judged[i]);
    verdicts_[asked[i]->key] = std::move(judged[i]);
  }
}

std::vector<const ProofGroup*> Verdicts::standing(const Round& round, std::set<std::string>& seen) const {
  std::vector<const ProofGroup*> groups;
  for (const ProofGroup& group : round.groups) {
    const verify::Verdict* verdict = find(group);
    const bool stands = shop_.options.verify ? verdict && verdict->status == verify::Status::passed
                                             : rejection_of(group, round.built).empty();
    if (stands && seen.insert(group.key).second) groups.push_back(&group);
  }
  return groups;
}

void Verdicts::measure(const Round& round) {
  for (const ProofGroup* group : standing(round, measured_)) measure_group(round, *group, verdicts_.at(group->key));
}

void Verdicts::measure_group(const Round& round, const ProofGroup& group, verify::Verdict& verdict) {
  constexpr double budget_s = 0.02;
  const Bench bench(group, round.plan, shop_.device, host_);
  const Bench::Run kernels = bench.kernels(load_all(kernels_of(group, round.built), shop_.device));
  const Bench::Times times = bench.compare(kernels, bench.eager(), budget_s);
  verdict.kernel_us = times.first_us;
  verdict.eager_us = times.second_us;
  keep(group, round.built, verdict);
}

void Verdicts::search(const Round& round) {
  for (const ProofGroup* group : standing(round, searched_)) {
    if (group->regions.size() == 1 && !attempts_.contains(group->bodies[0])) search_group(round, *group);
  }
}

void Verdicts::search_group(const Round& round, const ProofGroup& group) {
  std::shared_ptr<Built>& slot = round.built.at(group.bodies[0]);
  load_all({slot}, shop_.device);
  SearchResult found = search_candidates(group, round.plan, *slot, shop_, host_);
  attempts_[slot->fingerprint] = std::move(found.attempts);
  if (!found.best) return;
  const std::shared_ptr<Built> incumbent = std::exchange(slot, found.best);
  if (!shop_.options.verify) return;  // nothing is proved, so nothing is remembered
  if (const std::string why = prove_everywhere(round, group.bodies[0]); !why.empty()) {
    log(LogLevel::info, "search: a faster candidate was not proved: " + why);
    slot = incumbent;
    return;
  }
  store_candidate(*slot, shop_, store_);
}

// A body's new kernel serves every group that has the body, so each of their claims is judged. Why one of them did not
// pass; then all verdicts stay as they were.
std::string Verdicts::prove_everywhere(const Round& round, const std::string& body) {
  std::vector<const ProofGroup*> touched;
  std::vector<verify::Claim> claims;
  for (const ProofGroup& group : round.groups) {
    const bool has = std::find(group.bodies.begin(), group.bodies.end(), body) != group.bodies.end();
    const verify::Verdict* verdict = find(group);
    if (!has || !verdict || verdict->status != verify::Status::passed) continue;
    touched.push_back(&group);
    claims.push_back(make_claim(group, round.plan, round.built));
  }
  std::vector<verify::Verdict> judged = verify::judge(claims, shop_.device, shop_.options, host_);
  for (const verify::Verdict& verdict : judged)
    if (verdict.status != verify::Status::passed) return verdict.reason;
  for (std::size_t i = 0; i < touched.size(); ++i) {
    measure_group(round, *touched[i], judged[i]);
    searched_.insert(touched[i]->key);
    verdicts_[touched[i]->key] = std::move(judged[i]);
  }
  return "";
}

std::string Verdicts::objection(const ProofGroup& group) const {
  if (!shop_.options.verify) return "";
  const verify::Verdict& verdict = verdicts_.at(group.key);
  if (verdict.status != verify::Status::passed) return "not proved: " + verdict.reason;
  const bool slow = verdict.eager_us > 0 && verdict.kernel_us > slower_than_eager * verdict.eager_us;
  return shop_.options.measure && slow ? "slower than eager here" : "";
}

const verify::Verdict* Verdicts::find(const ProofGroup& group) const {
  const auto it = verdicts_.find(group.key);
  return it == verdicts_.end() ? nullptr : &it->second;
}

std::vector<Attempt> Verdicts::attempts(const std::string& body) const {
  const auto it = attempts_.find(body);
  return it == attempts_.end() ? std::vector<Attempt>() : it->second;
}

}  // namespace cudaagent
