// Public header of the room `verify`: is this kernel right, by the precision contract (docs/design.md, section 3)?
//
// A claim is a run of kernels and the captured ATen nodes they stand for. Truth is those nodes in fp64 through the
// host; the yardstick is the same nodes in their own dtypes (eager). The kernels run in a child process,
// `cudaagent-judge`, which opens no torch and is killed by the wall clock: outputs poisoned with two patterns, guard
// bands on every buffer, fresh inputs at fresh addresses for every family, inputs compared before and after, run twice
// for repeatability.
#pragma once

#include <string>
#include <vector>

#include "jit/jit.h"
#include "runtime/runtime.h"

namespace cudaagent::verify {

/// Goes into the key of every stored verdict: raised when the contract, its families or its statistics change, so that
/// nothing stays installed on a proof that is no longer enough.
inline constexpr const char* contract_version = "3";

enum class Status : std::uint8_t { passed, failed, mistrusted, untested };

struct FamilyResult {
  /// "normal", "positive", "shifted", "graded rows", "graded columns", "outlier", "integers", "special"
  std::string family;
  /// Relative RMS, largest absolute over the truth's RMS, worst row's RMS over that row's RMS: kernel, then eager.
  double rms = 0, max = 0, row = 0;
  double eager_rms = 0, eager_max = 0, eager_row = 0;
  std::string failure;  ///< empty when inside the contract
};

struct Verdict {
  Status status = Status::untested;
  std::string reason;
  std::vector<FamilyResult> families;
  double kernel_us = 0, eager_us = 0;  ///< medians, when measured
};
void to_json(Json& json, const Verdict& verdict);
void from_json(const Json& json, Verdict& verdict);

/// One generated region as the judge runs it.
struct Step {
  schedule::Body body;
  codegen::Source source;
  jit::Binary binary;
};

/// What is claimed: running `steps` in order makes the outputs of `truth` from its inputs.
struct Claim {
  ir::Graph truth;  ///< captured nodes only
  std::vector<Step> steps;
  /// For every buffer of every step: index into `tensors`.
  std::vector<std::vector<std::int32_t>> bindings;
  std::vector<TensorType> tensors;    ///< claim-wide: inputs, intermediates, outputs
  std::vector<std::int32_t> inputs;   ///< tensors[i] of truth's input k
  std::vector<std::int32_t> outputs;  ///< tensors[i] of truth's output k
};

/// Judges every claim, all of them in one child (restarted after a fault). Verdicts in order.
std::vector<Verdict> judge(const std::vector<Claim>& claims, const Device& device, const Options& options,
                           TensorHost& host);

}  // namespace cudaagent::verify
