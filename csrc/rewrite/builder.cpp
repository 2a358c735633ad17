#include "rewrite/builder.h"

#include <algorithm>
#include <array>

#include "ir/prims.h"
#include "rewrite/promote.h"

namespace cudaagent::rewrite {

namespace {

constexpr std::array<const char*, 3> operand_names = {"x", "y", "z"};

NamedArg operand_x(Val x) { return {"x", Arg{Ref{x.id}}}; }

std::string_view on_bools(std::string_view fn, DType dtype) {
  if (dtype != DType::b8) return fn;
  return fn == "add" ? "or" : fn == "mul" ? "and" : fn;
}

bool is_half(DType dtype) { return compute_dtype(dtype) != dtype; }

}  // namespace

bool broadcast_dims(const Dims& a, const Dims& b, Dims& out) {
  const std::size_t rank = std::max(a.size(), b.size());
  out.assign(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return false;
    out[rank - 1 - i] = x == 1 ? y : x;
  }
  return true;
}

Builder::Builder(ir::Graph& graph, std::int32_t origin, Device device)
    : graph_(graph), origin_(origin), device_(device), first_(static_cast<ir::ValueId>(graph.values.size())) {}

void Builder::refuse(std::string why) {
  if (refusal_.empty()) refusal_ = std::move(why);
}

Val Builder::emit(std::string op, std::vector<NamedArg> args, DType dtype, Dims dims, bool implicit) {
  ir::Value value;
  value.type = {dtype, dims, contiguous_strides(dims), device_};
  ir::Node node;
  node.op = "prim::" + std::move(op);
  node.args = std::move(args);
  node.outputs = {graph_.add_value(std::move(value))};
  node.origin = origin_;
  node.implicit = implicit;
  graph_.nodes.push_back(std::move(node));
  return {graph_.nodes.back().outputs[0]};
}

Dims Builder::broadcast(const std::vector<Operand>& operands) {
  Dims dims, joined;
  for (const Operand& operand : operands) {
    if (!operand.is_value()) continue;
    if (!broadcast_dims(dims, this->dims(operand.value()), joined)) refuse("operands do not broadcast");
    dims = joined;
  }
  return dims;
}

Val Builder::map(std::string_view name, std::vector<Operand> operands) {
  const std::size_t condition = name == "where" ? 1 : 0;
  const auto typed = std::find_if(operands.begin() + static_cast<std::ptrdiff_t>(condition), operands.end(),
                                  [](const Operand& operand) { return operand.is_value(); });
  if (typed == operands.end()) throw InternalError("a map function needs a tensor operand");
  const DType dtype = this->dtype(typed->value());
  const ir::MapFn* fn = ir::find_map_fn(on_bools(name, dtype));
  if (!fn || fn->arity != operands.size()) throw InternalError("no map function " + std::string(name));
  if (!(is_float(dtype) ? fn->floats : is_integral(dtype) ? fn->ints : fn->bools)) {
    refuse(std::string(name) + " of " + dtype_name(dtype));
  }
  std::vector<NamedArg> args;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_value()) {
      args.push_back({operand_names[i], Arg{Ref{operands[i].value().id}}});
      continue;
    }
    if (!fits(operands[i].number(), dtype)) refuse("a number that " + std::string(dtype_name(dtype)) + " cannot hold");
    args.push_back({operand_names[i], constant_of(operands[i].number(), dtype)});
  }
  return emit(std::string(fn->name), std::move(args), fn->predicate ? DType::b8 : dtype, broadcast(operands));
}

Val Builder::where(Val condition, Operand a, Operand b, DType dtype) {
  if (!a.is_value() && !b.is_value()) a = full({}, dtype, a.number());
  return map("where", {condition, a, b});
}

Val Builder::convert(Val x, DType dtype, bool implicit) {
  return emit("convert", {operand_x(x)}, dtype, dims(x), implicit);
}

Val Builder::to(Val x, DType dtype) {
  const DType from = this->dtype(x);
  if (from == dtype) return x;
  return convert(x, dtype, (is_half(from) && dtype == DType::f32) || (from == DType::f32 && is_half(dtype)));
}

Val Builder::compute(Val x, DType common) {
  if (dtype(x) != common && !is_half(dtype(x))) x = convert(x, common, false);
  return to(x, compute_dtype(common));
}

Val Builder::full(const Dims& dims, DType dtype, const Arg& value) {
  if (!fits(value, dtype)) refuse("a number that " + std::string(dtype_name(dtype)) + " cannot hold");
  return emit("full", {{"value", constant_of(value, dtype)}}, dtype, dims);
}

Val Builder::iota(const Dims& dims, DType dtype, std::int64_t dim, const Arg& start, const Arg& step) {
  return emit("iota", {{"dim", Arg{dim}}, {"start", constant_of(start, dtype)}, {"step", constant_of(step, dtype)}},
              dtype, dims);
}

Val Builder::positions(std::int64_t rank, std::int64_t dim, std::int64_t extent) {
  Dims dims(static_cast<std::size_t>(rank), 1);
  dims.at(static_cast<std::size_t>(dim)) = extent;
  return iota(dims, DType::i64, dim, Arg{std::int64_t{0}}, Arg{std::int64_t{1}});
}

std::int64_t Builder::axis(std::int64_t dim, std::int64_t rank) {
  const std::int64_t bound = std::max<std::int64_t>(rank, 1);
  if (dim < 0) dim += bound;
  if (dim >= 0 && dim < bound) return dim;
  refuse("a dim out of range");
  return 0;
}

Dims Builder::axes(Val x, Dims dims) {
  if (dims.empty()) {
    for (std::int64_t i = 0; i < rank(x); ++i) dims.push_back(i);
    return dims;
  }
  for (std::int64_t& dim : dims) dim = axis(dim, rank(x));
  if (rank(x) == 0) return {};
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

double Builder::count(Val x, const Dims& dims) const {
  double elements = 1;
  for (const std::int64_t dim : dims) elements *= static_cast<double>(extent(x, dim));
  return elements;
}

Val Builder::reduce(std::string_view kind, Val x, const Dims& dims, bool keepdim) {
  if (rank(x) == 0) return reduce(kind, reshape(x, {1}), {0}, false);
  if (dims.empty()) throw InternalError("a reduction needs dims");
  if (count(x, dims) == 0) refuse("a reduction over no elements");
  if (dtype(x) == DType::b8) kind = kind == "max" ? "any" : kind == "min" ? "all" : kind;
  const bool index = kind == "argmax" || kind == "argmin", logical = kind == "any" || kind == "all";
  Dims left;
  for (std::int64_t i = 0; i < rank(x); ++i) {
    const bool reduced = std::binary_search(dims.begin(), dims.end(), i);
    if (!reduced || keepdim) left.push_back(reduced ? 1 : extent(x, i));
  }
  const DType result = index ? DType::i64 : logical ? DType::b8 : dtype(x);
  return emit("reduce",
              {operand_x(x), {"kind", Arg{std::string(kind)}}, {"dims", int_list(dims)}, {"keepdim", Arg{keepdim}}},
              result, left);
}

}  // namespace cudaagent::rewrite
