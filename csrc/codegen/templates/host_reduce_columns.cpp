// Template "reduce_columns" for the host: lanes run along a kept axis, a task is a tile of columns.
#include "codegen/host_layout.h"
#include "codegen/host_reduce.h"
#include "codegen/registry.h"

namespace cudaagent::codegen {

namespace {

using schedule::Body;
using Params = std::map<std::string, std::int64_t>;

int suits(const Body& full, const Target&) {
  if (!full.has_reduction()) return 0;
  const Body body = collapse(full);
  if (!reduction_vector_axis(body, true)) return 0;
  return prefers_columns(body) ? 100 : 20;
}

Params defaults(const Body& full, const Target& target) {
  const Body body = collapse(full);
  const std::size_t axis = *reduction_vector_axis(body, true);
  const std::int64_t lanes = lanes_for(body, body.axes[axis].extent);
  return {{"lanes", lanes}, {"tile", column_tile(body, axis, lanes, target.units)}};
}

std::vector<Params> variants(const Body& body, const Target& target) {
  return with_each(defaults(body, target), "tile", {128, 2048});
}

Outcome<Source> generate(const Body& body, const Params& params, const Target&, const std::string& name) {
  Outcome<HostReduction> plan = plan_reduction(body, true, params.at("lanes"), params.at("tile"), 1);
  if (!plan) return plan.rejection();
  return generate_reduction(plan.value(), name);
}

}  // namespace

Template host_reduce_columns() { return {"reduce_columns", Language::host, suits, defaults, variants, generate}; }

}  // namespace cudaagent::codegen
