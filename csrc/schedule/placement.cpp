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

}  // namespace cudaagent::schedule
