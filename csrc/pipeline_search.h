// Measured search over the candidates of one kernel: the analytic model ranks, the clock decides, the judge confirms.
#pragma once

#include "pipeline_kernels.h"
#include "pipeline_measure.h"

namespace cudaagent {

/// A candidate must be this much faster than the incumbent to replace it.
inline constexpr double worthwhile_gain = 1.02;

struct Attempt {
  codegen::Candidate candidate;
  double us = 0, incumbent_us = 0;  ///< medians, interleaved
  std::string rejection;            ///< not empty: it was not timed
};

struct SearchResult {
  std::vector<Attempt> attempts;
  std::shared_ptr<Built> best;  ///< null when the incumbent stays
};

/// Times up to shop.options.search candidates of a group with one region against `incumbent`. Nothing is proved yet.
SearchResult search_candidates(const ProofGroup& group, const schedule::Plan& plan, const Built& incumbent,
                               const Workshop& shop, TensorHost& host);

}  // namespace cudaagent
