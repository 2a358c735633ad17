// Time of a proof group's kernels against the captured nodes they stand for, both through the same runtime.
#pragma once

#include "pipeline_claims.h"

namespace cudaagent {

struct Times {
  double kernel_us = 0, eager_us = 0;  ///< medians over interleaved runs
};

/// Interleaved runs on made-up inputs (no random generator of the user's is touched), a few milliseconds in all.
Times measure(const ProofGroup& group, const schedule::Plan& plan, BuiltMap& built, const Device& device,
              TensorHost& host);

}  // namespace cudaagent
