// What explain() shows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pipeline_verdicts.h"
#include "rewrite/rewrite.h"

namespace cudaagent {

struct ReportInputs {
  const ir::Graph& captured;
  const schedule::Plan& plan;
  const rewrite::Result& rewritten;
  const BuiltMap& built;
  const std::vector<ProofGroup>& groups;
  const Verdicts* verdicts;  ///< null when nothing was judged
  const CacheCounts& counts;
  const cache::Store& store;
  const std::map<std::string, double>& timings;
  const Workshop& shop;
};

/// {"device", "arch", "regions": [...], "left": [...], "fired": [...], "timings": {...}, "cache": {...}, "problem": ""}
Json make_report(const ReportInputs& in);

/// Regions by kind, the captured operators each stands for, and why an external one is that.
Json report_plan(const ir::Graph& captured, const schedule::Plan& plan);

}  // namespace cudaagent
