#include "schedule/strided_view.h"

#include <algorithm>
#include <utility>

namespace cudaagent::schedule {

namespace {

using Factors = std::vector<Factor>;

void merge_neighbours(Factors& factors) {
  Factors merged;
  for (const Factor& factor : factors) {
    if (factor.extent == 1) continue;
    if (!merged.empty() && merged.back().stride == factor.extent * factor.stride) {
      merged.back() = {merged.back().extent * factor.extent, factor.stride};
    } else {
      merged.push_back(factor);
    }
  }
  factors = std::move(merged);
}

bool regroup(std::vector<Factors>& dims, const std::vector<std::int64_t>& shape) {
  Factors flat;
  for (const Factors& dim : dims) flat.insert(flat.end(), dim.begin(), dim.end());
  merge_neighbours(flat);
  dims.assign(shape.size(), {});
  for (std::size_t d = shape.size(); d-- > 0;) {
    std::int64_t need = shape[d];
    while (need > 1) {
      Factor& last = flat.back();
      const std::int64_t take = std::min(need, last.extent);
      if (need % take != 0 || last.extent % take != 0) return false;
      dims[d].push_back({take, last.stride});
      last = {last.extent / take, last.stride * take};
      if (last.extent == 1) flat.pop_back();
      need /= take;
    }
    std::reverse(dims[d].begin(), dims[d].end());
    merge_neighbours(dims[d]);
  }
  return true;
}

}  // namespace

StridedView StridedView::whole(const TensorType& type) {
  StridedView view;
  view.dims.resize(type.dims.size());
  for (std::size_t d = 0; d < type.dims.size(); ++d) {
    if (type.dims[d] != 1) view.dims[d].push_back({type.dims[d], type.strides[d]});
  }
  return view;
}

bool StridedView::apply(const ir::Graph& graph, const ir::Node& node) {
  const std::vector<std::int64_t>& shape = graph.type(node.outputs[0]).dims;
  if (node.op == "prim::reshape") return regroup(dims, shape);
  if (node.op == "prim::permute") {
    const std::vector<std::int64_t> order = as_int_list(*find_arg(node.args, "dims"));
    std::vector<Factors> permuted;
    for (const std::int64_t d : order) permuted.push_back(dims[static_cast<std::size_t>(d)]);
    dims = std::move(permuted);
    return true;
  }
  if (node.op == "prim::expand") {
    dims.insert(dims.begin(), shape.size() - dims.size(), Factors{});
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (dims[d].empty() && shape[d] != 1) dims[d].push_back({shape[d], 0});
    }
    return true;
  }
  const auto dim = static_cast<std::size_t>(find_arg(node.args, "dim")->as<std::int64_t>());
  const std::int64_t start = find_arg(node.args, "start")->as<std::int64_t>();
  const std::int64_t step = find_arg(node.args, "step")->as<std::int64_t>();
  Factors& sliced = dims[dim];
  if (sliced.empty()) return true;
  if (sliced.size() > 1) return false;
  const std::int64_t stride = sliced[0].stride;
  offset += start * stride;
  sliced.clear();
  if (shape[dim] != 1) sliced.push_back({shape[dim], stride * step});
  return true;
}

std::optional<std::vector<std::int64_t>> StridedView::strides() const {
  std::vector<std::int64_t> strides(dims.size(), 0);
  std::int64_t next = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    if (dims[d].size() > 1) return std::nullopt;
    // A dim of extent 1 may have any stride; the one a dense tensor has there keeps layouts recognisable.
    strides[d] = dims[d].empty() ? next : dims[d][0].stride;
    if (!dims[d].empty()) next = dims[d][0].stride * dims[d][0].extent;
  }
  return strides;
}

}  // namespace cudaagent::schedule
