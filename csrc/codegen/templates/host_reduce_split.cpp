// Template "reduce_split" for the host: few rows or columns, each long; several tasks share one, a launch per stage.
#include <algorithm>

#include "codegen/host_layout.h"
#include "codegen/host_reduce.h"
#include "codegen/registry.h"

namespace cudaagent::codegen {

namespace {

using schedule::Body;
using Params = std::map<std::string, std::int64_t>;

/// Elements a task must have for a second launch to pay.
constexpr std::int64_t worth_a_task = 32768;

Params defaults(const Body& full, const Target& target) {
  const Body body = collapse(full);
  const bool columns = prefers_columns(body);
  const std::optional<std::size_t> axis = reduction_vector_axis(body, columns);
  const std::int64_t lanes = axis ? lanes_for(body, body.axes[*axis].extent) : 1;
  const std::int64_t tile = columns ? column_tile(body, *axis, lanes, 1) : 1;
  const std::int64_t elements = body.kept() * body.reduced();
  const std::int64_t chunks =
      std::clamp<std::int64_t>(elements / worth_a_task, 1, std::max(target.units, 1) * std::int64_t{4});
  return {{"columns", columns ? 1 : 0}, {"lanes", lanes}, {"tile", tile}, {"chunks", chunks}};
}

Outcome<HostReduction> plan_of(const Body& body, const Params& params) {
  return plan_reduction(body, params.at("columns") != 0, params.at("lanes"), params.at("tile"), params.at("chunks"));
}

int suits(const Body& body, const Target& target) {
  if (!body.has_reduction()) return 0;
  const Outcome<HostReduction> plan = plan_of(body, defaults(body, target));
  if (!plan || plan.value().chunks < 2) return 0;
  return plan.value().tasks() < target.units ? 150 : 10;
}

std::vector<Params> variants(const Body& body, const Target& target) {
  return with_each(defaults(body, target), "chunks", {target.units, target.units * 16});
}

Outcome<Source> generate(const Body& body, const Params& params, const Target&, const std::string& name) {
  Outcome<HostReduction> plan = plan_of(body, params);
  if (!plan) return plan.rejection();
  if (plan.value().chunks < 2) return Rejection{"codegen", "reduce_split: the reduced axes are too short to share", ""};
  return generate_reduction(plan.value(), name);
}

}  // namespace

Template host_reduce_split() { return {"reduce_split", Language::host, suits, defaults, variants, generate}; }

}  // namespace cudaagent::codegen
