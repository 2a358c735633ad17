#include "schedule/placement.h"

#include <algorithm>

namespace cudaagent::schedule {

using ir::Node;
using ir::ValueId;

Outcome<Placement> Placement::make(const Dataflow& flow, const std::vector<std::int32_t>& nodes,
                                   const std::vector<ValueId>& outputs) {
  Placement shared(flow, nodes, true);
  const std::string why = shared.place_all(outputs);
  if (why.empty()) return shared;
  Placement apart(flow, nodes, false);
  if (apart.place_all(outputs).empty()) return apart;
  return Rejection{"schedule", why, ""};
}

std::string Placement::place_all(const std::vector<ValueId>& outputs) {
  for (const std::int32_t n : nodes_) {
    std::string why = place_node(n);
    if (!why.empty()) return why;
  }
  return check(outputs);
}

bool Placement::in_region(ValueId value) const {
  const std::int32_t n = flow_->producer(value);
  return n >= 0 && !ir::is_generator(flow_->node(n).op) && std::binary_search(nodes_.begin(), nodes_.end(), n);
}

std::string Placement::place_node(std::int32_t n) {
  const Node& node = flow_->node(n);
  if (ir::is_view(node.op)) return place_view(n);
  std::vector<Operand> operands;
  if (ir::is_generator(node.op)) {
    operands.push_back(fresh(flow_->place(node.outputs[0])));
    dims_[node.outputs[0]] = operands[0].dims;
    operands_.push_back(std::move(operands));
    return "";
  }
  // convert and reduce have attributes behind their one operand.
  const std::size_t arity = ir::is_map(node.op) && node.op != "prim::convert" ? node.args.size() : 1;
  for (std::size_t i = 0; i < arity; ++i) {
    Operand& operand = operands.emplace_back();
    const Arg& arg = node.args[i].value;
    if (!arg.is<Ref>()) {
      operand.origin.constant = arg;
    } else if (!resolve(arg.as<Ref>().id, operand)) {
      return "a view is not affine";
    }
  }
  std::string why;
  if (node.op == "prim::reduce") {
    place_reduce(n, operands[0]);
  } else {
    why = place_map(n, operands);
  }
  operands_.push_back(std::move(operands));
  return why;
}

std::string Placement::place_map(std::int32_t n, const std::vector<Operand>& operands) {
  const ValueId value = flow_->node(n).outputs[0];
  std::vector<AxisList> dims(flow_->graph().type(value).dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    for (const Operand& operand : operands) {
      const std::size_t missing = dims.size() - std::min(dims.size(), operand.dims.size());
      if (d < missing || operand.dims[d - missing].empty()) continue;
      const AxisList& axes = operand.dims[d - missing];
      if (dims[d].empty()) {
        dims[d] = axes;
      } else if (!space_.unify(dims[d], axes)) {
        return "its operands' factors do not nest";
      }
    }
  }
  dims_[value] = std::move(dims);
  return "";
}

void Placement::place_reduce(std::int32_t n, const Operand& operand) {
  const Node& node = flow_->node(n);
  const std::vector<std::int64_t> over = as_int_list(*find_arg(node.args, "dims"));
  const bool keepdim = find_arg(node.args, "keepdim")->as<bool>();
  std::vector<AxisList> dims;
  AxisList& list = reduce_lists_[n];
  for (std::size_t d = 0; d < operand.dims.size(); ++d) {
    if (!std::binary_search(over.begin(), over.end(), static_cast<std::int64_t>(d))) {
      dims.push_back(operand.dims[d]);
      continue;
    }
    list.insert(list.end(), operand.dims[d].begin(), operand.dims[d].end());
    if (keepdim) dims.emplace_back();
  }
  AxisList& all = reduce_operands_[n];
  for (const AxisList& dim : operand.dims) all.insert(all.end(), dim.begin(), dim.end());
  dims_[node.outputs[0]] = std::move(dims);
}

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
