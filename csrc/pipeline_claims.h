// From regions to claims the verifier can judge: which captured nodes a run of generated regions stands for.
#pragma once

#include <string>
#include <vector>

#include "pipeline_kernels.h"
#include "verify/verify.h"

namespace cudaagent {

/// Generated regions that are proved together: one region, or several where a value between them exists in no captured
/// graph (a decomposition split over two kernels), so that only their joint result has a truth.
struct ProofGroup {
  std::vector<std::int32_t> regions;  ///< indices into the plan, ascending
  std::vector<std::string> bodies;    ///< their fingerprints
  ir::Graph truth;                    ///< the captured nodes they stand for
  std::vector<std::int32_t> captured_nodes;
  std::vector<ir::ValueId> inputs, outputs;  ///< rewritten values, parallel to truth's inputs and outputs
  /// Parallel to outputs: the value that has a captured counterpart; the output itself, or a view of its whole memory.
  std::vector<ir::ValueId> claimed;
  std::string untestable;  ///< not empty: why no truth can be made
  std::string key;         ///< equal keys are equal claims: bodies, truth
};

/// Why one of the group's kernels could not be made; empty when all are there.
std::string rejection_of(const ProofGroup& group, const BuiltMap& built);

std::vector<ProofGroup> group_claims(const ir::Graph& captured, const schedule::Plan& plan);

verify::Claim make_claim(const ProofGroup& group, const schedule::Plan& plan, const BuiltMap& built);

}  // namespace cudaagent
