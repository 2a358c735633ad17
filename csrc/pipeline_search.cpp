#include "pipeline_search.h"

#include <algorithm>

namespace cudaagent {

namespace {

constexpr double seconds_each = 0.03;

std::vector<std::shared_ptr<Built>> sources_of(const schedule::Region& region, const Built& incumbent,
                                               const codegen::Target& target, int most) {
  std::vector<std::shared_ptr<Built>> trials;
  for (codegen::Candidate& candidate : codegen::candidates(region.body, target, static_cast<std::size_t>(most) + 1)) {
    if (candidate == incumbent.candidate) continue;
    auto trial = std::make_shared<Built>();
    trial->fingerprint = incumbent.fingerprint;
    trial->candidate = std::move(candidate);
    auto source = codegen::generate(region.body, trial->candidate, target, region.name);
    if (source) {
      trial->source = std::move(source.value());
    } else {
      trial->rejection = source.rejection().reason;
    }
    trials.push_back(std::move(trial));
  }
  return trials;
}

}  // namespace

SearchResult search_candidates(const ProofGroup& group, const schedule::Plan& plan, const Built& incumbent,
                               const codegen::Target& target, const Options& options, const Device& device,
                               TensorHost& host) {
  const schedule::Region& region = plan.regions.at(static_cast<std::size_t>(group.regions.at(0)));
  const auto trials = sources_of(region, incumbent, target, options.search);
  compile_kernels(trials, target, options);
  const Bench bench(group, plan, device, host);
  const Bench::Run reference = bench.kernels({incumbent.kernel});
  SearchResult result;
  double best_ratio = worthwhile_gain;
  for (const std::shared_ptr<Built>& trial : trials) {
    Attempt& attempt = result.attempts.emplace_back();
    attempt.candidate = trial->candidate;
    attempt.rejection = trial->rejection;
    if (!attempt.rejection.empty()) continue;
    const auto kernel = load_kernel(*trial, device);
    if (!kernel) {
      attempt.rejection = kernel.rejection().reason;
      continue;
    }
    const Bench::Times times = bench.compare(bench.kernels({kernel.value()}), reference, seconds_each);
    attempt.us = times.first_us;
    attempt.incumbent_us = times.second_us;
    const double ratio = times.second_us / times.first_us;
    if (ratio <= best_ratio) continue;
    best_ratio = ratio;
    result.best = trial;
  }
  return result;
}

}  // namespace cudaagent
