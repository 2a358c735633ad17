#include "codegen/cuda_walk.h"

#include <algorithm>

#include "codegen/analysis.h"

namespace cudaagent::codegen::cuda {

using schedule::Access;
using schedule::Inst;
using schedule::InstKind;

namespace {

const Inst& at(const schedule::Body& body, std::int32_t id) { return body.insts[static_cast<std::size_t>(id)]; }

bool is_arg(ir::ReduceKind kind) { return kind == ir::ReduceKind::argmax || kind == ir::ReduceKind::argmin; }

std::string number(std::int64_t value) { return std::to_string(value); }

void open_group(Text& text, const Walk& walk) {
  if (walk.unroll) text.open_unrolled("u", walk.unroll);
  for (const std::string& local : walk.locals) text.line(local);
  if (!walk.guard.empty()) text.open("if (" + walk.guard + ")");
}

void close_group(Text& text, const Walk& walk) {
  if (!walk.guard.empty()) text.close();
  if (walk.unroll) text.close();
}

}  // namespace

WalkEmitter::WalkEmitter(const schedule::Body& body, bool wide) : body_(body), wide_(wide), names_(body.insts.size()) {
  for (std::size_t i = 0; i < body.insts.size(); ++i)
    if (body.insts[i].kind == InstKind::constant) names_[i] = expression(body.insts[i], {});
}

/// One call of emit: where values live and how they are subscripted.
struct WalkEmitter::Scope {
  const Walk& walk;
  const std::set<std::int32_t>& kept;

  /// One element and no loops: values are plain variables of the caller's scope.
  bool flat() const { return !walk.unroll && !walk.vector; }
  /// Whether a vector is moved whole.
  bool whole(std::int32_t id, const Access& access) const {
    return stride(access) == 1 && (walk.vector == 1 || (walk.aligned && !walk.scattered.contains(id)));
  }
  bool late(std::int32_t load) const { return walk.late.contains(load) && !kept.contains(load); }
  std::string group() const { return walk.unroll ? "[u]" : ""; }
  std::string element() const { return walk.vector ? "[e]" : ""; }
  std::string group_extent() const { return walk.unroll ? "[" + number(walk.unroll) + "]" : ""; }
  std::string element_extent() const { return walk.vector ? "[" + number(walk.vector) + "]" : ""; }
  std::int64_t stride(const Access& access) const { return walk.vector ? access.strides[walk.axis] : 0; }
  std::string vec() const { return number(std::max<std::int64_t>(walk.vector, 1)); }
};

std::string WalkEmitter::address(const Access& access, const Walk& walk) const {
  if (!walk.linear.empty()) {
    std::vector<std::int64_t> dims;
    for (const schedule::Axis& axis : body_.axes) dims.push_back(axis.extent);
    if (access.strides == contiguous_strides(dims))
      return "p" + number(access.buffer) + " + " + walk.linear +
             (access.offset ? " + " + number(access.offset) + "ll" : "");
  }
  return "p" + number(access.buffer) + " + " + affine(access, walk.index, wide_ ? "ll" : "");
}

std::string WalkEmitter::accumulator_type(std::int32_t reduce) const {
  const Inst& inst = at(body_, reduce);
  const std::string value = ctype(accumulator_dtype(body_, inst));
  if (!is_arg(inst.reduce)) return value;
  const bool wide = body_.reduced() >= (std::int64_t{1} << 31);
  return "ca::Indexed<" + value + (wide ? ", int64_t>" : ", int>");
}

std::string WalkEmitter::accumulator_start(std::int32_t reduce) const {
  const Inst& inst = at(body_, reduce);
  const std::string start = reduce_identity(inst.reduce, accumulator_dtype(body_, inst));
  // The most negative 64-bit integer is an expression of another type than int64_t where that is long.
  if (!is_arg(inst.reduce)) return inst.dtype == DType::i64 ? "int64_t(" + start + ")" : start;
  // A position past every other: nothing was found yet.
  const bool wide = body_.reduced() >= (std::int64_t{1} << 31);
  return accumulator_type(reduce) + "{" + start + (wide ? ", 0x7fffffffffffffffll}" : ", 0x7fffffff}");
}

std::string WalkEmitter::join(std::int32_t reduce) const {
  const std::string type = accumulator_type(reduce);
  const ir::ReduceKind kind = at(body_, reduce).reduce;
  const std::string fn = is_arg(kind) ? "ca::" + std::string(ir::reduce_kind_name(kind)) : reduce_function(kind);
  return "[](" + type + " a, " + type + " b) { return " + fn + "(a, b); }";
}

std::string WalkEmitter::finish(std::int32_t reduce, const std::string& accumulator) const {
  const Inst& inst = at(body_, reduce);
  if (is_arg(inst.reduce)) return "ca::found(" + accumulator + ")";
  if (accumulator_dtype(body_, inst) == inst.dtype) return accumulator;
  return "ca::convert<" + ctype(inst.dtype) + ">(" + accumulator + ")";
}

void WalkEmitter::declare_accumulator(Text& text, std::int32_t reduce, std::int64_t count) const {
  declare_start(text, reduce, accumulator_name(reduce), count);
}

void WalkEmitter::declare_partial(Text& text, std::int32_t reduce, std::int64_t count) const {
  declare_start(text, reduce, partial_name(reduce), count);
}

void WalkEmitter::add_partial(Text& text, std::int32_t reduce, std::int64_t count) const {
  text.open_unrolled("e", count);
  text.line(accumulator_name(reduce) + "[e] += " + partial_name(reduce) + "[e];");
  text.close();
}

void WalkEmitter::declare_start(Text& text, std::int32_t reduce, const std::string& name, std::int64_t count) const {
  text.line(accumulator_type(reduce) + " " + name + "[" + number(count) + "];");
  text.open_unrolled("e", count);
  text.line(name + "[e] = " + accumulator_start(reduce) + ";");
  text.close();
}

void WalkEmitter::declare(Text& text, std::int32_t id, const Scope& scope) const {
  const Inst& inst = at(body_, id);
  const std::string type = ctype(inst.dtype), name = inst.kind == InstKind::load ? loaded_name(id) : "k" + number(id);
  if (inst.kind == InstKind::load && scope.stride(inst.access) != 0)
    text.line("ca::Vec<" + type + ", " + scope.vec() + "> " + name + scope.group_extent() + ";");
  else if (inst.kind == InstKind::load)
    text.line(type + " " + name + scope.group_extent() + ";");
  else
    text.line(type + " " + name + scope.group_extent() + scope.element_extent() + ";");
}

void WalkEmitter::emit_load(Text& text, std::int32_t id, const Scope& scope) {
  const Walk& walk = scope.walk;
  const Access& access = at(body_, id).access;
  const bool late = scope.late(id);
  const std::string group = late ? "" : scope.group();
  const std::string name = loaded_name(id), type = ctype(at(body_, id).dtype);
  const std::string value_type = scope.stride(access) ? "ca::Vec<" + type + ", " + scope.vec() + ">" : type;
  const std::string to = scope.flat() || late ? "const " + value_type + " " + name : name + group;
  const std::string from = address(access, walk), stride = number(scope.stride(access));
  const auto place = walk.shared.find(id);
  if (walk.recalled.contains(id))
    text.line(to + " = " + place->second + ";");
  else if (scope.stride(access) == 0)
    text.line(to + " = *(" + from + ");");
  else if (scope.whole(id, access))
    text.line(to + " = ca::load<" + scope.vec() + ">(" + from + ");");
  else
    text.line(to + " = ca::gather<" + scope.vec() + ">(" + from + ", " + stride + ");");
  set_name(id, name + group + (scope.stride(access) ? scope.element() : ""));
}

void WalkEmitter::emit_loads(Text& text, const std::vector<std::int32_t>& loads, const Scope& scope) {
  if (loads.empty()) return;
  open_group(text, scope.walk);
  for (const std::int32_t id : loads) emit_load(text, id, scope);
  close_group(text, scope.walk);
}

bool WalkEmitter::divides_by_row(const Inst& inst) const {
  if (inst.kind != InstKind::map || inst.fn != "div" || inst.dtype != DType::f32 || !inst.element) return false;
  const Inst& divisor = at(body_, inst.operands[1]);
  return !divisor.element && divisor.kind != InstKind::constant;
}

void WalkEmitter::declare_divisors(Text& text, const std::vector<std::int32_t>& insts) {
  for (const std::int32_t id : insts) {
    const Inst& inst = at(body_, id);
    if (!divides_by_row(inst) || !divisors_.insert(inst.operands[1]).second) continue;
    text.line("const ca::Divisor d" + number(inst.operands[1]) + "(" + name(inst.operands[1]) + ");");
  }
}

/// Whether an index instruction counts from zero and below 2^31.
bool WalkEmitter::small_position(std::int32_t id) const {
  const Inst& inst = at(body_, id);
  if (inst.kind != InstKind::index || inst.access.offset < 0) return false;
  std::int64_t last = inst.access.offset;
  for (std::size_t a = 0; a < body_.axes.size(); ++a) {
    if (inst.access.strides[a] < 0) return false;
    last += inst.access.strides[a] * std::max<std::int64_t>(body_.axes[a].extent - 1, 0);
  }
  return last < (std::int64_t{1} << 31);
}

/// A map's value. A position met with a 64-bit integer is compared in 32 bits: of a class index, only whether it has
/// more is left, and that is the same for a whole row.
std::string WalkEmitter::mapped(const Inst& inst) const {
  if ((inst.fn == "eq" || inst.fn == "ne") && at(body_, inst.operands[1]).dtype == DType::i64)
    for (const int side : {0, 1})
      if (small_position(inst.operands[static_cast<std::size_t>(side)]))
        return (inst.fn == "ne" ? "!" : "") + std::string("ca::is_at(int(") +
               name(inst.operands[static_cast<std::size_t>(side)]) + "), " +
               name(inst.operands[static_cast<std::size_t>(1 - side)]) + ")";
  const bool shared_divisor = divides_by_row(inst) && divisors_.contains(inst.operands[1]);
  return expression(inst, [&](std::int32_t operand) {
    return shared_divisor && operand == inst.operands[1] ? "d" + number(operand) : name(operand);
  });
}

/// The accumulator `to` after one more element.
std::string WalkEmitter::accumulated(std::int32_t id, const std::string& to, const Walk& walk) const {
  const Inst& inst = at(body_, id);
  const std::string value =
      "ca::convert<" + ctype(accumulator_dtype(body_, inst)) + ">(" + name(inst.operands[0]) + ")";
  if (!is_arg(inst.reduce)) return reduce_function(inst.reduce) + "(" + to + ", " + value + ")";
  const std::string kind = "ca::" + std::string(ir::reduce_kind_name(inst.reduce));
  const auto next = [&](const std::string& before) {
    return kind + "_next(" + before + ", " + value + ", " + walk.position + ")";
  };
  // An element that does not beat the start value stays unfound, as it does in order.
  return walk.ordered ? next(to) : kind + "(" + to + ", " + next(accumulator_start(id)) + ")";
}

void WalkEmitter::emit_value(Text& text, std::int32_t id, const Scope& scope) {
  const Inst& inst = at(body_, id);
  const auto define = [&](const std::string& value) {
    if (scope.kept.contains(id) && !scope.flat()) {
      set_name(id, "k" + number(id) + scope.group() + scope.element());
      text.line(name(id) + " = " + value + ";");
    } else {
      set_name(id, "v" + number(id));
      text.line("const " + ctype(inst.dtype) + " " + name(id) + " = " + value + ";");
    }
  };
  switch (inst.kind) {
    case InstKind::constant:
      break;
    case InstKind::map:
      define(mapped(inst));
      break;
    case InstKind::index: {
      const std::int64_t stride = scope.stride(inst.access);
      define(affine(inst.access, scope.walk.index) + (stride ? " + e * " + number(stride) + "ll" : ""));
      break;
    }
    case InstKind::reduce: {
      const std::string to = (scope.walk.cascaded.contains(id) ? partial_name(id) : accumulator_name(id)) +
                             (scope.walk.vector ? "[e]" : "[0]");
      text.line(to + " = " + accumulated(id, to, scope.walk) + ";");
      break;
    }
    case InstKind::store: {
      if (scope.walk.vector) text.line("y" + number(id) + "[e] = " + name(inst.operands[0]) + ";");
      break;
    }
    case InstKind::load:
      break;
  }
}

void WalkEmitter::emit_stores(Text& text, const std::vector<std::int32_t>& stores, const Scope& scope) {
  if (stores.empty()) return;
  const Walk& walk = scope.walk;
  if (!walk.store_guard.empty()) text.open("if (" + walk.store_guard + ")");
  for (const std::int32_t id : stores) {
    const Inst& inst = at(body_, id);
    const std::string to = address(inst.access, walk), from = "y" + number(id);
    const std::int64_t stride = scope.stride(inst.access);
    if (!walk.vector)
      text.line("*(" + to + ") = " + name(inst.operands[0]) + ";");
    else if (scope.whole(id, inst.access))
      text.line("ca::store(" + to + ", " + from + ");");
    else
      text.line("ca::scatter(" + to + ", " + number(stride) + ", " + from + ");");
  }
  if (!walk.store_guard.empty()) text.close();
}

void WalkEmitter::emit_values(Text& text, const std::vector<std::int32_t>& insts, const Scope& scope) {
  const Walk& walk = scope.walk;
  std::vector<std::int32_t> stores, values;
  for (const std::int32_t id : insts) {
    if (at(body_, id).kind == InstKind::store) stores.push_back(id);
    if (at(body_, id).kind != InstKind::load) values.push_back(id);
  }
  open_group(text, walk);
  for (const std::int32_t id : insts)
    if (at(body_, id).kind == InstKind::load) emit_load(text, id, scope);
  for (const auto& [id, place] : walk.shared)
    if (!walk.recalled.contains(id)) text.line(place + " = " + loaded_name(id) + scope.group() + ";");
  for (const std::int32_t id : stores)
    if (walk.vector)
      text.line("ca::Vec<" + ctype(operand_dtype(body_, at(body_, id))) + ", " + scope.vec() + "> y" + number(id) +
                ";");
  if (walk.vector) text.open_unrolled("e", walk.vector);
  for (const std::int32_t id : values) emit_value(text, id, scope);
  if (walk.vector) text.close();
  emit_stores(text, stores, scope);
  close_group(text, walk);
}

void WalkEmitter::emit_loads_of(Text& text, const std::vector<std::int32_t>& insts, const Walk& walk) {
  const std::set<std::int32_t> kept;
  const Scope scope{walk, kept};
  std::vector<std::int32_t> loads;
  for (const std::int32_t id : insts)
    if (at(body_, id).kind == InstKind::load && !scope.late(id)) loads.push_back(id);
  for (const std::int32_t id : loads)
    if (!scope.flat()) declare(text, id, scope);
  emit_loads(text, loads, scope);
}

void WalkEmitter::emit_values_of(Text& text, const std::vector<std::int32_t>& insts, const Walk& walk) {
  emit_rest(text, insts, Scope{walk, {}});
}

/// All but the constants and the loads that came early.
void WalkEmitter::emit_rest(Text& text, const std::vector<std::int32_t>& insts, const Scope& scope) {
  std::vector<std::int32_t> values;
  for (const std::int32_t id : insts) {
    const InstKind kind = at(body_, id).kind;
    if (kind != InstKind::constant && (kind != InstKind::load || scope.late(id))) values.push_back(id);
  }
  if (!values.empty()) emit_values(text, values, scope);
}

void WalkEmitter::emit(Text& text, const std::vector<std::int32_t>& insts, const Walk& walk,
                       const std::set<std::int32_t>& kept) {
  const Scope scope{walk, kept};
  std::vector<std::int32_t> loads;
  for (const std::int32_t id : insts) {
    const InstKind kind = at(body_, id).kind;
    if (kind == InstKind::load && !scope.late(id)) loads.push_back(id);
    const bool array = kind == InstKind::load || kind == InstKind::map || kind == InstKind::index;
    if (array && kept.contains(id) && !scope.flat()) declare(text, id, scope);
  }
  if (!scope.flat()) text.open("");
  for (const std::int32_t id : loads)
    if (!kept.contains(id) && !scope.flat()) declare(text, id, scope);
  emit_loads(text, loads, scope);
  emit_rest(text, insts, scope);
  if (!scope.flat()) text.close();
}

void decompose(const schedule::Body& body, const std::vector<std::size_t>& axes, const std::string& linear,
               const std::string& type, std::vector<std::string>& locals, std::vector<std::string>& index) {
  std::int64_t inner = 1;
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::size_t axis = axes[k];
    const std::int64_t extent = body.axes[axis].extent;
    if (axes.size() == 1) {
      index[axis] = linear;
      return;
    }
    std::string value = inner == 1 ? linear : linear + " / " + number(inner);
    if (k > 0) value += " % " + number(extent);
    index[axis] = "i" + number(static_cast<std::int64_t>(axis));
    locals.push_back("const " + type + " " + index[axis] + " = " + value + ";");
    inner *= extent;
  }
}

}  // namespace cudaagent::codegen::cuda
