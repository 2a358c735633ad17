#include "pipeline_report.h"

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "jit/device.h"

namespace cudaagent {

Device device_of(const ir::Graph& graph) {
  for (const ir::Value& value : graph.values) {
    if (value.type.device.type == DeviceType::cuda) return value.type.device;
  }
  return {};
}

codegen::Target target_of(const Device& device, const Options& options) {
  codegen::Target target;
  if (device.type == DeviceType::cuda) {
    target.language = codegen::Language::cuda;
    target.arch = !options.cuda_arch.empty() ? options.cuda_arch : jit::device_arch(device.index);
    target.units = jit::device_units(device.index);
  } else {
    target.language = codegen::Language::host;
    target.arch = "native";
    target.units = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }
  return target;
}

schedule::Machine machine_of(const codegen::Target& target) {
  schedule::Machine machine;
  machine.device = target.language == codegen::Language::cuda ? DeviceType::cuda : DeviceType::cpu;
  machine.units = target.units;
  // One block's shared memory; of a core, half of a common second-level cache.
  machine.persistent_row_bytes = machine.device == DeviceType::cuda ? target.shared_bytes : 1 << 20;
  return machine;
}

std::string device_key(const Device& device, const Options& options) {
  if (device.type == DeviceType::cuda) return jit::device_description(device.index);
  return "host " + jit::toolchain_key(target_of(device, options), options);
}

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
Json captured_ops(const ReportInputs& in, const schedule::Region& region, std::set<std::int32_t>& origins) {
  Json ops = Json::array();
  for (const std::int32_t node : region.nodes) {
    const std::int32_t origin = in.plan.graph.nodes.at(static_cast<std::size_t>(node)).origin;
    if (origin >= 0 && origins.insert(origin).second) {
      ops.push_back(in.captured.nodes.at(static_cast<std::size_t>(origin)).op);
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

void describe_kernel(const ReportInputs& in, const schedule::Region& region, Json& json) {
  const Built& built = *in.built.at(schedule::fingerprint(region.body));
  json["fingerprint"] = built.fingerprint;
  json["candidate"] = built.candidate;
  json["template"] = built.candidate.template_name;
  json["source"] = built.source.text;
  json["bytes"] = schedule::bytes_moved(region.body);
  json["resources"] = resources_of(built.binary);
  json["launches"] = Json::array();
  for (const codegen::Launch& launch : built.source.launches) json["launches"].push_back(launch.kernel);
  json["binary_from_cache"] = built.binary_from_cache;
  if (const auto tried = in.attempts.find(built.fingerprint); tried != in.attempts.end()) {
    json["attempts"] = Json::array();
    for (const Attempt& attempt : tried->second) {
      json["attempts"].push_back({{"candidate", attempt.candidate},
                                  {"us", attempt.us},
                                  {"incumbent_us", attempt.incumbent_us},
                                  {"rejection", attempt.rejection}});
    }
  }
  if (!built.rejection.empty()) json["rejection"] = {{"reason", built.rejection}, {"log", built.log}};
}

}  // namespace

Json make_report(const ReportInputs& in) {
  std::map<std::int32_t, std::string> left(in.rewritten.left.begin(), in.rewritten.left.end());
  Json regions = Json::array();
  for (const schedule::Region& region : in.plan.regions) {
    std::set<std::int32_t> origins;
    Json json = {{"name", region.name}, {"kind", kind_name(region.kind)}};
    json["nodes"] = captured_ops(in, region, origins);
    if (region.kind == schedule::RegionKind::generated) describe_kernel(in, region, json);
    if (region.kind == schedule::RegionKind::external && !origins.empty()) {
      const auto it = left.find(*origins.begin());
      json["why"] = it != left.end() ? it->second : region.why;
    }
    regions.push_back(std::move(json));
  }
  for (const ProofGroup& group : in.groups) {
    const auto it = in.verdicts.find(group.key);
    if (it == in.verdicts.end()) continue;
    for (const std::int32_t r : group.regions) {
      Json& json = regions.at(static_cast<std::size_t>(r));
      json["verdict"] = it->second;
      json["group"] = group.regions;
    }
  }
  Json report = {{"device", device_name(in.device)}, {"arch", in.target.arch}, {"regions", std::move(regions)}};
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
  return report;
}

Json report_plan(const ir::Graph& captured, const schedule::Plan& plan) {
  Json regions = Json::array();
  for (const schedule::Region& region : plan.regions) {
    Json nodes = Json::array();
    std::set<std::int32_t> origins;
    for (const std::int32_t node : region.nodes) {
      const std::int32_t origin = plan.graph.nodes.at(static_cast<std::size_t>(node)).origin;
      if (origin >= 0 && origins.insert(origin).second) {
        nodes.push_back(captured.nodes.at(static_cast<std::size_t>(origin)).op);
      }
    }
    regions.push_back({{"kind", kind_name(region.kind)}, {"nodes", nodes}, {"why", region.why}});
  }
  return {{"regions", regions}};
}

}  // namespace cudaagent
