#include <algorithm>
#include <nlohmann/json.hpp>

#include "profile/operators.h"
#include "profile/profile.h"

namespace cudaagent::profile {

namespace {

double time(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

double product_seconds(const ir::Graph& graph, std::size_t node, double flops, const Ceilings& ceilings) {
  const ir::Node& made = graph.nodes[node];
  if (flops <= 0 || made.outputs.empty() || made.outputs[0] == ir::no_value) return 0;
  const std::string dtype = dtype_name(graph.type(made.outputs[0]).dtype);
  const auto rate = [&](const std::string& key) {
    const auto found = ceilings.products_per_second.find(key);
    return found == ceilings.products_per_second.end() ? 0.0 : found->second;
  };
  const double own = base_name(made.op).starts_with("conv") ? rate("conv:" + dtype) : 0;
  return time(flops, own > 0 ? own : rate(dtype));
}

}  // namespace

std::vector<double> floors(const ir::Graph& graph, const Ceilings& ceilings) {
  const std::vector<Cost> found = costs(graph);
  std::vector<double> seconds;
  for (std::size_t n = 0; n < found.size(); ++n)
    seconds.push_back(std::max({time(found[n].read_bytes + found[n].written_bytes, ceilings.bytes_per_second),
                                product_seconds(graph, n, found[n].products, ceilings),
                                time(found[n].others, ceilings.others_per_second)}));
  return seconds;
}

double fused_floor(const ir::Graph& graph, const Ceilings& ceilings) {
  const Cost whole = fused_cost(graph);
  const std::vector<Cost> found = costs(graph);
  double products = 0;
  for (std::size_t n = 0; n < found.size(); ++n) products += product_seconds(graph, n, found[n].products, ceilings);
  return std::max({time(whole.read_bytes + whole.written_bytes, ceilings.bytes_per_second), products,
                   time(whole.others, ceilings.others_per_second)});
}

void from_json(const Json& json, Ceilings& ceilings) {
  ceilings.bytes_per_second = json.value("bytes_per_second", 0.0);
  ceilings.others_per_second = json.value("others_per_second", 0.0);
  ceilings.products_per_second = json.value("products_per_second", std::map<std::string, double>{});
}

}  // namespace cudaagent::profile
