#include "pipeline_report.h"

#include <nlohmann/json.hpp>
#include <set>

namespace cudaagent {

namespace {

const char* kind_name(schedule::RegionKind kind) {
  switch (kind) {
    case schedule::RegionKind::external:
      return "external";
    case schedule::RegionKind::view:
      return "view";
    case schedule::RegionKind::generated:
      return "generated";
  }
  return "";
}

// The captured operators a region stands for, each once, in order.
Json captured_ops(const ir::Graph& captured, const schedule::Plan& plan, const schedule::Region& region,
                  std::set<std::int32_t>& origins) {
  Json ops = Json::array();
  for (const std::int32_t node : region.nodes) {
    const std::int32_t origin = plan.graph.nodes.at(static_cast<std::size_t>(node)).origin;
    if (origin >= 0 && origins.insert(origin).second) {
      ops.push_back(captured.nodes.at(static_cast<std::size_t>(origin)).op);
    }
  }
  return ops;
}

Json resources_of(const jit::Binary& binary) {
  Json list = Json::array();
  for (const jit::Resources& r : binary.resources) {
    list.push_back({{"kernel", r.kernel},
                    {"registers", r.registers},
                    {"spill_bytes", r.spill_bytes},
                    {"shared_bytes", r.shared_bytes}});
  }
  return list;
}

void describe_attempts(const std::vector<Attempt>& attempts, Json& json) {
  for (const Attempt& attempt : attempts) {
    json["attempts"].push_back({{"candidate", attempt.candidate},
                                {"us", attempt.us},
                                {"incumbent_us", attempt.incumbent_us},
                                {"rejection", attempt.rejection}});
  }
}

void describe_kernel(const ReportInputs& in, const schedule::Region& region, Json& json) {
  const Built& built = *in.built.at(region.fingerprint);
  json["fingerprint"] = built.fingerprint;
  json["candidate"] = built.candidate;
  json["template"] = built.candidate.template_name;
  json["source"] = built.source.text;
  json["bytes"] = schedule::bytes_moved(region.body);
  json["resources"] = resources_of(built.binary);
  json["launches"] = Json::array();
  for (const codegen::Launch& launch : built.source.launches) json["launches"].push_back(launch.kernel);
  json["binary_from_cache"] = built.binary_from_cache;
  if (in.verdicts) describe_attempts(in.verdicts->attempts(built.fingerprint), json);
  if (!built.rejection.empty()) json["rejection"] = {{"reason", built.rejection}, {"log", built.log}};
}

}  // namespace

Json make_report(const ReportInputs& in) {
  std::map<std::int32_t, std::string> left(in.rewritten.left.begin(), in.rewritten.left.end());
  Json regions = Json::array();
  for (const schedule::Region& region : in.plan.regions) {
    std::set<std::int32_t> origins;
    Json json = {{"name", region.name}, {"kind", kind_name(region.kind)}};
    json["nodes"] = captured_ops(in.captured, in.plan, region, origins);
    if (region.kind == schedule::RegionKind::generated) describe_kernel(in, region, json);
    if (region.kind == schedule::RegionKind::external && !origins.empty()) {
      const auto it = left.find(*origins.begin());
      json["why"] = it != left.end() ? it->second : region.why;
    }
    regions.push_back(std::move(json));
  }
  for (const ProofGroup& group : in.groups) {
    const verify::Verdict* verdict = in.verdicts ? in.verdicts->find(group) : nullptr;
    if (!verdict) continue;
    for (const std::int32_t r : group.regions) {
      Json& json = regions.at(static_cast<std::size_t>(r));
      json["verdict"] = *verdict;
      json["group"] = group.regions;
    }
  }
  Json report = {
      {"device", device_name(in.shop.device)}, {"arch", in.shop.target.arch}, {"regions", std::move(regions)}};
  report["left"] = Json::array();
  for (const auto& [node, why] : in.rewritten.left) {
    report["left"].push_back({{"op", in.captured.nodes.at(static_cast<std::size_t>(node)).op}, {"why", why}});
  }
  report["fired"] = Json::array();
  for (const rewrite::Fired& fired : in.rewritten.fired) {
    report["fired"].push_back({{"pass", fired.pass}, {"rule", fired.rule}, {"count", fired.count}});
  }
  report["timings"] = in.timings;
  report["cache"] = {{"record_hits", in.counts.record_hits},
                     {"record_misses", in.counts.record_misses},
                     {"binary_hits", in.counts.binary_hits},
                     {"binary_misses", in.counts.binary_misses}};
  report["problem"] = in.store.problem();
  return report;
}

Json report_plan(const ir::Graph& captured, const schedule::Plan& plan) {
  Json regions = Json::array();
  for (const schedule::Region& region : plan.regions) {
    std::set<std::int32_t> origins;
    const Json nodes = captured_ops(captured, plan, region, origins);
    regions.push_back({{"kind", kind_name(region.kind)}, {"nodes", nodes}, {"why", region.why}});
  }
  return {{"regions", regions}};
}

}  // namespace cudaagent
