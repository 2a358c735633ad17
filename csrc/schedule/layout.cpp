// Which strides a value gets that the scheduler is free to lay out.
#include <algorithm>
#include <numeric>

#include "schedule/dataflow.h"

namespace cudaagent::schedule {

namespace {

using Dims = std::vector<std::int64_t>;

/// Dense strides for `dims` with the dims in the given order, slowest first.
Dims dense_strides(const Dims& dims, const std::vector<std::size_t>& order) {
  Dims strides(dims.size());
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= std::max<std::int64_t>(dims[order[i]], 1);
  }
  return strides;
}

/// The dims of a tensor, slowest first; nothing when a broadcast dim leaves that open.
std::vector<std::size_t> memory_order(const TensorType& type) {
  std::vector<std::size_t> order(type.dims.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t d = 0; d < type.dims.size(); ++d) {
    if (type.dims[d] != 1 && type.strides[d] == 0) return {};
  }
  std::vector<std::size_t> wide;
  std::copy_if(order.begin(), order.end(), std::back_inserter(wide), [&](std::size_t d) { return type.dims[d] != 1; });
  std::stable_sort(wide.begin(), wide.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(type.strides[a]) > std::abs(type.strides[b]); });
  // Dims of extent 1 stay where they are.
  std::size_t next = 0;
  for (std::size_t& d : order) {
    if (type.dims[d] != 1) d = wide[next++];
  }
  return order;
}

Dims dense_like(const Dims& dims, const TensorType& model) {
  const std::vector<std::size_t> order = memory_order(model);
  return order.empty() ? contiguous_strides(dims) : dense_strides(dims, order);
}

Dims reduce_strides(const ir::Graph& graph, const ir::Node& node, const Dims& dims) {
  const TensorType& x = graph.type(references(node.args)[0]);
  if (dims.size() == x.dims.size()) return dense_like(dims, x);
  const Dims reduced = as_int_list(*find_arg(node.args, "dims"));
  TensorType kept = x;
  kept.dims.clear();
  kept.strides.clear();
  for (std::size_t d = 0; d < x.dims.size(); ++d) {
    if (std::binary_search(reduced.begin(), reduced.end(), static_cast<std::int64_t>(d))) continue;
    kept.dims.push_back(x.dims[d]);
    kept.strides.push_back(x.strides[d]);
  }
  return dense_like(dims, kept);
}

}  // namespace

bool is_dense(const TensorType& type) {
  if (type.strides.size() != type.dims.size()) return false;
  if (type.numel() == 0) return true;
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (std::size_t d = 0; d < type.dims.size(); ++d) {
    if (type.dims[d] != 1) steps.emplace_back(type.strides[d], type.dims[d]);
  }
  std::sort(steps.begin(), steps.end());
  std::int64_t expected = 1;
  for (const auto& [stride, dim] : steps) {
    if (stride != expected) return false;
    expected *= dim;
  }
  return true;
}

Dims choose_strides(const ir::Graph& graph, const ir::Node& node) {
  const ir::Value& value = graph.values[static_cast<std::size_t>(node.outputs[0])];
  const Dims& dims = value.type.dims;
  if (value.origin != ir::no_value && is_dense(value.type)) return value.type.strides;
  if (ir::is_view(node.op) || ir::is_generator(node.op)) return contiguous_strides(dims);
  if (node.op == "prim::reduce") return reduce_strides(graph, node, dims);
  for (const ir::ValueId operand : references(node.args)) {
    const TensorType& type = graph.type(operand);
    if (type.dims == dims && !memory_order(type).empty()) return dense_like(dims, type);
  }
  return contiguous_strides(dims);
}

}  // namespace cudaagent::schedule
