#include "pipeline_search.h"

#include <algorithm>

namespace cudaagent {

namespace {

constexpr double seconds_each = 0.03;

// Sources of the other candidates; the incumbent's may be among those the model proposes.
Kernels challengers(const schedule::Region& region, const Built& incumbent, const Workshop& shop) {
  Kernels trials;
  const std::size_t most = static_cast<std::size_t>(shop.options.search) + 1;
  for (codegen::Candidate& candidate : codegen::candidates(region.body, shop.target, most)) {
    if (!(candidate == incumbent.candidate)) trials.push_back(write_source(region, std::move(candidate), shop));
  }
  return trials;
}

}  // namespace

SearchResult search_candidates(const ProofGroup& group, const schedule::Plan& plan, const Built& incumbent,
                               const Workshop& shop, TensorHost& host) {
  const schedule::Region& region = plan.regions.at(static_cast<std::size_t>(group.regions.at(0)));
  const Kernels trials = challengers(region, incumbent, shop);
  compile_kernels(trials, shop);
  const Bench bench(group, plan, shop.device, host);
  const Bench::Run reference = bench.kernels({incumbent.kernel});
  SearchResult result;
  double best_ratio = worthwhile_gain;
  for (const std::shared_ptr<Built>& trial : trials) {
    Attempt& attempt = result.attempts.emplace_back();
    attempt.candidate = trial->candidate;
    attempt.rejection = trial->rejection;
    if (!attempt.rejection.empty()) continue;
    const auto kernel = load_kernel(*trial, shop.device);
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
  // Once more: the best of many noisy readings is often luck.
  if (result.best) {
    const auto kernel = load_kernel(*result.best, shop.device).value();
    const Bench::Times times = bench.compare(bench.kernels({kernel}), reference, 2 * seconds_each);
    if (times.second_us <= worthwhile_gain * times.first_us) result.best = nullptr;
  }
  return result;
}

}  // namespace cudaagent
