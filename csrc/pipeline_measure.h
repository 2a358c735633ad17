// Time of a proof group's kernels against the captured nodes they stand for, both through the same runtime.
#pragma once

#include <functional>
#include <memory>

#include "pipeline_claims.h"

namespace cudaagent {

/// Made-up inputs for a group (no random generator of the user's is touched) and what runs on them.
class Bench {
 public:
  Bench(const ProofGroup& group, const schedule::Plan& plan, const Device& device, TensorHost& host);

  using Run = std::function<void()>;
  /// The group's kernels, as `kernels` gives them for each of its regions.
  Run kernels(std::vector<std::shared_ptr<runtime::Kernel>> kernels) const;
  /// The captured nodes, through the host.
  Run eager() const;

  struct Times {
    double first_us = 0, second_us = 0;
  };
  /// Medians of interleaved runs, within `budget_s` or three samples.
  Times compare(const Run& first, const Run& second, double budget_s) const;

 private:
  double seconds(const Run& run, int times) const;

  const ProofGroup& group_;
  const schedule::Plan& plan_;
  Device device_;
  TensorHost& host_;
  std::shared_ptr<std::vector<Tensor>> inputs_;
};

}  // namespace cudaagent
