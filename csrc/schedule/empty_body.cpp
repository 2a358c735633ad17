// Nodes over no elements: nothing is read, a reduction gives its identity.
#include <cmath>
#include <limits>

#include "schedule/body_builder.h"
#include "schedule/inst_list.h"

namespace cudaagent::schedule {

using ir::Node;
using ir::ReduceKind;

namespace {

Arg constant_of(DType dtype, double value) {
  if (dtype == DType::b8) return Arg{value != 0};
  if (is_float(dtype)) return Arg{value};
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min(), highest = std::numeric_limits<std::int64_t>::max();
  return Arg{std::isinf(value) ? (value < 0 ? lowest : highest) : static_cast<std::int64_t>(value)};
}

double identity(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::prod:
    case ReduceKind::all:
      return 1;
    case ReduceKind::max:
      return -std::numeric_limits<double>::infinity();
    case ReduceKind::min:
      return std::numeric_limits<double>::infinity();
    default:
      return 0;
  }
}

}  // namespace

ir::ReduceKind reduce_kind(const Node& node) {
  return *ir::find_reduce_kind(find_arg(node.args, "kind")->as<std::string>());
}

Body empty_body(const Dataflow& flow, std::int32_t n) {
  const Node& node = flow.node(n);
  const TensorType& type = flow.graph().type(node.outputs[0]);
  const double value = node.op == "prim::reduce" ? identity(reduce_kind(node)) : 0;
  Body body;
  body.axes = {{type.numel(), false}};
  body.buffers = {{node.outputs[0], type.dtype, type.span(), true}};
  InstList insts(body.axes);
  insts.store(insts.constant(constant_of(type.dtype, value), type.dtype), {0, 0, {1}}, type.dtype);
  body.insts = insts.take();
  return body;
}

}  // namespace cudaagent::schedule
