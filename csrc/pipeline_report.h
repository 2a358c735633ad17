// What explain() shows, and what the pipeline knows of the device.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pipeline_claims.h"
#include "pipeline_search.h"
#include "rewrite/rewrite.h"

namespace cudaagent {

Device device_of(const ir::Graph& graph);  ///< of the first tensor that is not a 0-dim CPU scalar
codegen::Target target_of(const Device& device, const Options& options);
schedule::Machine machine_of(const codegen::Target& target);
/// Card and driver, or the host's processor: a verdict is proved again when it changes.
std::string device_key(const Device& device, const Options& options);

struct ReportInputs {
  const ir::Graph& captured;
  const schedule::Plan& plan;
  const rewrite::Result& rewritten;
  const BuiltMap& built;
  const std::vector<ProofGroup>& groups;
  const std::map<std::string, verify::Verdict>& verdicts;
  const std::map<std::string, std::vector<Attempt>>& attempts;  ///< by body fingerprint
  const CacheCounts& counts;
  const std::map<std::string, double>& timings;
  const Device& device;
  const codegen::Target& target;
};

/// {"device", "arch", "regions": [...], "left": [...], "fired": [...], "timings": {...}, "cache": {...}}
Json make_report(const ReportInputs& in);

/// Regions by kind, the captured operators each stands for, and why an external one is that.
Json report_plan(const ir::Graph& captured, const schedule::Plan& plan);

}  // namespace cudaagent
