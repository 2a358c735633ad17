// Template "reduce_rows" for the host: a row is one task, lanes run along it. Carries every body with a reduction.
#include "codegen/host_layout.h"
#include "codegen/host_reduce.h"
#include "codegen/registry.h"

namespace cudaagent::codegen {

namespace {

using schedule::Body;
using Params = std::map<std::string, std::int64_t>;

int suits(const Body& body, const Target&) { return body.has_reduction() ? 50 : 0; }

Params defaults(const Body& full, const Target&) {
  const Body body = collapse(full);
  const std::optional<std::size_t> axis = reduction_vector_axis(body, false);
  return {{"lanes", axis ? lanes_for(body, body.axes[*axis].extent) : 1}};
}

std::vector<Params> variants(const Body&, const Target&) { return {}; }

Outcome<Source> generate(const Body& body, const Params& params, const Target&, const std::string& name) {
  Outcome<HostReduction> plan = plan_reduction(body, false, params.at("lanes"), 1, 1);
  if (!plan) return plan.rejection();
  return generate_reduction(plan.value(), name);
}

}  // namespace

Template host_reduce_rows() { return {"reduce_rows", Language::host, suits, defaults, variants, generate}; }

}  // namespace cudaagent::codegen
