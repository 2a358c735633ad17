#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "profile/operators.h"
#include "profile/profile.h"

namespace cudaagent::profile {

namespace {

/// Of the elements that are distinct in memory: an expanded dimension is read once.
double bytes(const TensorType& type) {
  double elements = 1;
  for (std::size_t d = 0; d < type.dims.size(); ++d)
    if (d >= type.strides.size() || type.strides[d] != 0 || type.dims[d] == 0)
      elements *= static_cast<double>(type.dims[d]);
  return elements * static_cast<double>(dtype_size(type.dtype));
}

void collect(const Arg& arg, std::set<ir::ValueId>& found) {
  if (arg.is<Ref>()) found.insert(arg.as<Ref>().id);
  if (arg.is<ArgList>())
    for (const Arg& item : arg.as<ArgList>()) collect(item, found);
}

std::set<ir::ValueId> operands(const ir::Node& node) {
  std::set<ir::ValueId> found;
  for (const NamedArg& given : node.args) collect(given.value, found);
  return found;
}

ir::ValueId first_operand(const ir::Node& node) {
  return !node.args.empty() && node.args[0].value.is<Ref>() ? node.args[0].value.as<Ref>().id : ir::no_value;
}

/// A reshape that had to copy has other strides than its operand could give; told by contiguity alone.
bool moves_nothing(const ir::Graph& graph, const ir::Node& node, const std::set<ir::ValueId>& read) {
  const std::string_view name = base_name(node.op);
  if (!is_view(name)) return false;
  if (name != "reshape" && name != "flatten") return true;
  return std::all_of(read.begin(), read.end(), [&](ir::ValueId id) {
    const TensorType& type = graph.type(id);
    return type.strides == contiguous_strides(type.dims);
  });
}

Cost cost_of(const ir::Graph& graph, const ir::Node& node) {
  Cost cost;
  const std::set<ir::ValueId> read = operands(node);
  if (moves_nothing(graph, node, read)) return cost;
  double written = 0, met = 0;
  for (const ir::ValueId id : node.outputs) {
    if (id == ir::no_value) continue;
    written += bytes(graph.type(id));
    met = std::max(met, static_cast<double>(graph.type(id).numel()));
  }
  const ir::ValueId table = is_lookup(base_name(node.op)) ? first_operand(node) : ir::no_value;
  for (const ir::ValueId id : read) {
    // Of a table as much is read as is written.
    cost.read_bytes += id == table ? std::min(bytes(graph.type(id)), written) : bytes(graph.type(id));
    if (id != table) met = std::max(met, static_cast<double>(graph.type(id).numel()));
  }
  cost.written_bytes = written;
  cost.products = product_flops(graph, node);
  cost.others = cost.products > 0 ? 0 : met;
  return cost;
}

}  // namespace

std::vector<Cost> costs(const ir::Graph& graph) {
  std::vector<Cost> found;
  found.reserve(graph.nodes.size());
  for (const ir::Node& node : graph.nodes) found.push_back(cost_of(graph, node));
  return found;
}

Cost fused_cost(const ir::Graph& graph) {
  Cost whole;
  std::set<ir::ValueId> written;
  for (const ir::Input& input : graph.inputs) whole.read_bytes += bytes(graph.type(input.value));
  for (const ir::Output& output : graph.outputs)
    if (output.value != ir::no_value) written.insert(output.value);
  for (const ir::Mutation& mutation : graph.mutations) written.insert(mutation.value);
  for (const ir::Input& input : graph.inputs) written.erase(input.value);
  for (const ir::ValueId id : written) whole.written_bytes += bytes(graph.type(id));
  for (const Cost& cost : costs(graph)) {
    whole.products += cost.products;
    whole.others += cost.others;
  }
  return whole;
}

void to_json(Json& json, const Cost& cost) {
  json = Json{{"read_bytes", cost.read_bytes},
              {"written_bytes", cost.written_bytes},
              {"products", cost.products},
              {"others", cost.others}};
}

}  // namespace cudaagent::profile
