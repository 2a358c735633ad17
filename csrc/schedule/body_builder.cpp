#include "schedule/body_builder.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "schedule/inst_list.h"

namespace cudaagent::schedule {

using ir::Node;
using ir::ReduceKind;
using ir::ValueId;

namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

bool counts_positions(ReduceKind kind) { return kind == ReduceKind::argmax || kind == ReduceKind::argmin; }

/// A number that is whole, as an integer.
std::optional<std::int64_t> whole(const Arg& arg) {
  if (arg.is<bool>()) return arg.as<bool>() ? 1 : 0;
  if (arg.is<std::int64_t>()) return arg.as<std::int64_t>();
  const double value = arg.as<double>();
  if (std::abs(value) > 9e15 || value != std::floor(value) || (value == 0 && std::signbit(value))) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

class Emitter {
 public:
  Emitter(const Dataflow& flow, const Placement& placement, const std::vector<std::int32_t>& nodes,
          const std::vector<ValueId>& outputs)
      : flow_(flow), placement_(placement), nodes_(nodes), outputs_(outputs), insts_(body_.axes) {}

  Outcome<Body> run() {
    make_axes();
    for (std::size_t i = 0; i < nodes_.size(); ++i) emit(nodes_[i], placement_.operands()[i]);
    body_.insts = insts_.take();
    number_buffers();
    for (const Inst& inst : body_.insts) body_.stages = std::max(body_.stages, inst.stage + 1);
    const auto order = positions_order();
    if (!order) return Rejection{"schedule", "its argmax count in different orders", ""};
    order_axes(body_, *order);
    collapse_axes(body_);
    return std::move(body_);
  }

 private:
  void make_axes() {
    for (const bool reduced : {false, true}) {
      for (const AxisId leaf : reduced ? placement_.reduced() : placement_.kept()) {
        axis_of_[leaf] = static_cast<std::int32_t>(body_.axes.size());
        body_.axes.push_back({placement_.space().extent(leaf), reduced});
      }
    }
  }

  void add_stride(Access& access, const AxisList& list, std::int64_t stride) const {
    const AxisList leaves = placement_.space().leaves(list);
    for (std::size_t i = leaves.size(); i-- > 0;) {
      access.strides[at(axis_of_.at(leaves[i]))] += stride;
      stride *= placement_.space().extent(leaves[i]);
    }
  }

  Access access_of(const Origin& origin, std::int64_t scale) const {
    Access access;
    access.offset = origin.offset * scale;
    access.strides.assign(body_.axes.size(), 0);
    for (const auto& [axis, stride] : origin.strides) add_stride(access, {axis}, stride * scale);
    return access;
  }

  std::int32_t emit_operand(const Operand& operand, DType constant_dtype) {
    const Origin& origin = operand.origin;
    switch (origin.kind) {
      case Origin::Kind::constant:
        return insts_.constant(origin.constant, constant_dtype);
      case Origin::Kind::computed:
        return inst_of_.at(origin.value);
      case Origin::Kind::generator:
        return emit_generator(origin);
      case Origin::Kind::memory:
        break;
    }
    Access access = access_of(origin, 1);
    const auto known = std::find(inputs_.begin(), inputs_.end(), origin.value);
    access.buffer = static_cast<std::int32_t>(known - inputs_.begin());
    if (known == inputs_.end()) inputs_.push_back(origin.value);
    return insts_.load(std::move(access), flow_.graph().type(origin.value).dtype);
  }

  std::int32_t emit_generator(const Origin& origin) {
    const Node& node = flow_.node(flow_.producer(origin.value));
    const DType dtype = flow_.graph().type(origin.value).dtype;
    if (node.op == "prim::full") return insts_.constant(*find_arg(node.args, "value"), dtype);
    const Arg& start = *find_arg(node.args, "start");
    const Arg& step = *find_arg(node.args, "step");
    if (whole(start) && whole(step)) {
      Access access = access_of(origin, *whole(step));
      access.offset += *whole(start);
      return convert(insts_.index(std::move(access)), dtype);
    }
    // Counted exactly, then stepped in double precision.
    std::int32_t value = convert(insts_.index(access_of(origin, 1)), DType::f64);
    value = insts_.map("mul", {value, insts_.constant(step, DType::f64)}, DType::f64);
    value = insts_.map("add", {value, insts_.constant(start, DType::f64)}, DType::f64);
    return convert(value, dtype);
  }

  std::int32_t convert(std::int32_t inst, DType dtype) {
    return insts_.dtype(inst) == dtype ? inst : insts_.map("convert", {inst}, dtype);
  }

  void emit(std::int32_t n, const std::vector<Operand>& operands) {
    const Node& node = flow_.node(n);
    const ValueId value = node.outputs[0];
    std::int32_t inst = -1;
    if (node.op == "prim::reduce") {
      inst = emit_reduce(n, operands[0]);
    } else if (ir::is_map(node.op)) {
      inst = emit_map(node, operands);
    } else {
      inst = emit_operand(operands[0], flow_.graph().type(value).dtype);
    }
    inst_of_[value] = inst;
    const auto output = std::find(outputs_.begin(), outputs_.end(), value);
    if (output != outputs_.end()) emit_store(value, inst, static_cast<std::int32_t>(output - outputs_.begin()));
  }

  std::int32_t emit_map(const Node& node, const std::vector<Operand>& operands) {
    const DType result = flow_.graph().type(node.outputs[0]).dtype;
    const std::string fn = node.op.substr(6);
    DType dtype = result;
    for (std::size_t i = fn == "where" ? 1 : 0; i < operands.size(); ++i) {
      if (node.args[i].value.is<Ref>()) dtype = flow_.graph().type(node.args[i].value.as<Ref>().id).dtype;
    }
    std::vector<std::int32_t> insts;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      insts.push_back(emit_operand(operands[i], fn == "where" && i == 0 ? DType::b8 : dtype));
    }
    return fn == "convert" ? convert(insts[0], result) : insts_.map(fn, std::move(insts), result);
  }

  std::int32_t emit_reduce(std::int32_t n, const Operand& operand) {
    const DType dtype = flow_.graph().type(flow_.node(n).outputs[0]).dtype;
    const std::int32_t inst = emit_operand(operand, dtype);
    const ReduceKind kind = reduce_kind(flow_.node(n));
    if (!placement_.reduce_axes(n).empty()) return insts_.reduce(kind, inst, dtype);
    // Over one element.
    if (counts_positions(kind)) return insts_.constant(Arg{std::int64_t{0}}, dtype);
    return convert(inst, dtype);
  }

  void emit_store(ValueId value, std::int32_t inst, std::int32_t output) {
    const TensorType& type = flow_.graph().type(value);
    Access access;
    access.buffer = output;
    access.strides.assign(body_.axes.size(), 0);
    const std::vector<AxisList>& dims = placement_.dims(value);
    for (std::size_t d = 0; d < dims.size(); ++d) {
      add_stride(access, dims[d], placement_.is_flat(value) ? 1 : type.strides[d]);
    }
    insts_.store(inst, std::move(access), type.dtype);
  }

  void number_buffers() {
    const auto add = [&](ValueId value, bool output) {
      const TensorType& type = flow_.graph().type(value);
      body_.buffers.push_back({value, type.dtype, type.span(), output});
    };
    for (const ValueId value : inputs_) add(value, false);
    for (const ValueId value : outputs_) add(value, true);
    for (Inst& inst : body_.insts) {
      if (inst.kind == InstKind::store) inst.access.buffer += static_cast<std::int32_t>(inputs_.size());
    }
  }

  // The order of the reduced axes in which argmax and argmin count; empty when there is none, nothing when they differ.
  std::optional<std::vector<std::int32_t>> positions_order() const {
    std::vector<std::int32_t> order;
    for (const std::int32_t n : nodes_) {
      const Node& node = flow_.node(n);
      if (node.op != "prim::reduce" || !counts_positions(reduce_kind(node))) continue;
      std::vector<std::int32_t> mine;
      for (const AxisId axis : placement_.reduce_axes(n)) mine.push_back(axis_of_.at(axis));
      if (mine.empty()) continue;
      if (!order.empty() && order != mine) return std::nullopt;
      order = std::move(mine);
    }
    return order;
  }

  const Dataflow& flow_;
  const Placement& placement_;
  const std::vector<std::int32_t>& nodes_;
  const std::vector<ValueId>& outputs_;
  Body body_;
  InstList insts_;
  std::map<AxisId, std::int32_t> axis_of_;
  std::map<ValueId, std::int32_t> inst_of_;
  std::vector<ValueId> inputs_;
};

}  // namespace

Outcome<BuiltBody> build(const Dataflow& flow, const std::vector<std::int32_t>& nodes,
                         const std::vector<ValueId>& outputs) {
  if (nodes.size() == 1 && flow.is_empty(nodes[0])) return BuiltBody{empty_body(flow, nodes[0]), {}};
  for (const std::int32_t n : nodes) {
    if (flow.is_empty(n)) return Rejection{"schedule", "a node over no elements runs alone", ""};
  }
  Outcome<Placement> placement = Placement::make(flow, nodes, outputs);
  if (!placement) return placement.rejection();
  Outcome<Body> body = Emitter(flow, placement.value(), nodes, outputs).run();
  if (!body) return body.rejection();
  const std::set<std::int32_t>& inlined = placement.value().inlined();
  return BuiltBody{std::move(body.value()), {inlined.begin(), inlined.end()}};
}

}  // namespace cudaagent::schedule
