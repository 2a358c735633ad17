// Operands through views: which axes of the space, or strides of memory, lie behind a view's dims.
#include "schedule/placement.h"

namespace cudaagent::schedule {

using ir::Node;
using ir::ValueId;

std::string Placement::place_view(std::int32_t n) {
  const Node& node = flow_->node(n);
  const ValueId source = references(node.args)[0], value = node.outputs[0];
  const Place below = flow_->place(source);
  Operand operand;
  bool placed = false;
  if (in_region(below.base) || (share_ && !flow_->is_generated_inline(below.base))) {
    if (!resolve(source, operand)) return "a view is not affine";
    placed = step(node, operand);
  }
  if (!placed && !in_region(below.base)) {
    Place whole = below;
    placed = whole.view->apply(flow_->graph(), node);
    if (placed) operand = fresh(whole);
  }
  if (!placed) {
    const TensorType& type = flow_->graph().type(value);
    if (node.op != "prim::reshape" || type.strides != contiguous_strides(type.dims)) return "a view is not affine";
    // Nobody in the region can read it, but it can be written: contiguous memory has the order of the elements.
    operand = {};
    if (!resolve(source, operand)) return "a view is not affine";
    AxisList flat;
    for (const AxisList& dim : operand.dims) flat.insert(flat.end(), dim.begin(), dim.end());
    operand.dims = {flat};
    flat_.insert(value);
  }
  note_inlined(source);
  dims_[value] = operand.dims;
  operands_.push_back({std::move(operand)});
  return "";
}

void Placement::note_inlined(ValueId value) {
  for (; flow_->is_transparent(value); value = references(flow_->node(flow_->producer(value)).args)[0]) {
    inlined_.insert(flow_->producer(value));
  }
  if (flow_->is_generated_inline(value)) inlined_.insert(flow_->producer(value));
}

bool Placement::resolve(ValueId value, Operand& operand) {
  if (in_region(value)) {
    if (is_flat(value)) return false;
    operand.dims = dims_.at(value);
    operand.origin.kind = Origin::Kind::computed;
    operand.origin.value = value;
    return true;
  }
  const Place place = flow_->place(value);
  const bool inside = in_region(place.base);
  note_inlined(value);
  if (!inside && (!share_ || flow_->is_generated_inline(place.base))) {
    operand = fresh(place);
    return true;
  }
  const Node* view = flow_->is_transparent(value) ? &flow_->node(flow_->producer(value)) : nullptr;
  if (view && view->op == "prim::slice") {
    if (inside) return false;
  } else if (view) {
    if (resolve(references(view->args)[0], operand) && step(*view, operand)) return true;
    if (inside) return false;
    operand = fresh(place);
    return true;
  }
  operand = shared_root(value, place);
  return true;
}

// The view's effect on dims that are axes of the space. The elements behind them stay the same.
bool Placement::step(const Node& view, Operand& operand) {
  const std::vector<std::int64_t>& shape = flow_->graph().type(view.outputs[0]).dims;
  std::vector<AxisList>& dims = operand.dims;
  if (view.op == "prim::slice") return false;
  if (view.op == "prim::reshape") {
    AxisList list;
    for (const AxisList& dim : dims) list.insert(list.end(), dim.begin(), dim.end());
    auto groups = space_.regroup(list, shape);
    if (groups) dims = std::move(*groups);
    return groups.has_value();
  }
  if (view.op == "prim::permute") {
    std::vector<AxisList> permuted;
    for (const std::int64_t d : as_int_list(*find_arg(view.args, "dims"))) {
      permuted.push_back(dims[static_cast<std::size_t>(d)]);
    }
    dims = std::move(permuted);
    return true;
  }
  dims.insert(dims.begin(), shape.size() - dims.size(), AxisList{});
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (dims[d].empty() && shape[d] != 1) dims[d].push_back(space_.add(shape[d]));
  }
  return true;
}

Operand Placement::fresh(const Place& place) {
  Operand operand;
  operand.origin.kind = flow_->is_generated_inline(place.base) ? Origin::Kind::generator : Origin::Kind::memory;
  operand.origin.value = place.base;
  operand.origin.offset = place.view->offset;
  for (const std::vector<Factor>& dim : place.view->dims) {
    AxisList& list = operand.dims.emplace_back();
    for (const Factor& factor : dim) {
      const AxisId axis = space_.add(factor.extent);
      list.push_back(axis);
      operand.origin.strides.emplace_back(axis, factor.stride);
    }
  }
  return operand;
}

Operand& Placement::shared_root(ValueId value, const Place& place) {
  const auto it = roots_.find(value);
  return it != roots_.end() ? it->second : roots_.emplace(value, fresh(place)).first->second;
}

}  // namespace cudaagent::schedule
