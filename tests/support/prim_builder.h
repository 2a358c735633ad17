// Short spelling for graphs of primitives in tests; result types follow from the operands.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/prims.h"
#include "support/graph_builder.h"

namespace cudaagent::testing {

class PrimBuilder : public GraphBuilder {
 public:
  using Dims = std::vector<std::int64_t>;
  using ValueId = ir::ValueId;
  using MapOperand = std::variant<ValueId, double>;

  const Dims& dims(ValueId v) const { return graph.type(v).dims; }
  DType dtype(ValueId v) const { return graph.type(v).dtype; }

  ValueId map(const std::string& fn, const std::vector<MapOperand>& operands) {
    Dims shape;
    std::vector<NamedArg> args;
    DType type = DType::f32;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (const auto* number = std::get_if<double>(&operands[i])) {
        args.push_back(arg("x" + std::to_string(i), Arg{*number}));
        continue;
      }
      const ValueId id = std::get<ValueId>(operands[i]);
      args.push_back(ref("x" + std::to_string(i), id));
      broadcast(shape, dims(id));
      if (fn != "where" || i > 0) type = dtype(id);
    }
    return node("prim::" + fn, std::move(args), ir::find_map_fn(fn)->predicate ? DType::b8 : type, shape);
  }
  ValueId map(const std::string& fn, ValueId a) { return map(fn, std::vector<MapOperand>{a}); }
  ValueId map(const std::string& fn, ValueId a, MapOperand b) { return map(fn, std::vector<MapOperand>{a, b}); }

  ValueId convert(ValueId x, DType to) { return node("prim::convert", {ref("x", x)}, to, dims(x)); }
  ValueId full(double value, DType type, Dims shape) {
    return node("prim::full", {arg("value", Arg{value})}, type, std::move(shape));
  }
  ValueId iota(Dims shape, std::int64_t dim, DType type, Arg start = Arg{std::int64_t{0}},
               Arg step = Arg{std::int64_t{1}}) {
    return node("prim::iota", {arg("dim", Arg{dim}), arg("start", std::move(start)), arg("step", std::move(step))},
                type, std::move(shape));
  }
  ValueId reduce(const std::string& kind, ValueId x, Dims over, bool keepdim = true) {
    Dims shape;
    for (std::size_t d = 0; d < dims(x).size(); ++d) {
      const bool reduced = std::find(over.begin(), over.end(), static_cast<std::int64_t>(d)) != over.end();
      if (!reduced) shape.push_back(dims(x)[d]);
      if (reduced && keepdim) shape.push_back(1);
    }
    const DType type = kind == "argmax" || kind == "argmin" ? DType::i64
                       : kind == "any" || kind == "all"     ? DType::b8
                                                            : dtype(x);
    return node("prim::reduce",
                {ref("x", x), arg("kind", Arg{kind}), arg("dims", int_list(over)), arg("keepdim", Arg{keepdim})}, type,
                shape);
  }
  ValueId permute(ValueId x, Dims order) {
    Dims shape;
    for (const std::int64_t d : order) shape.push_back(dims(x)[static_cast<std::size_t>(d)]);
    return node("prim::permute", {ref("x", x), arg("dims", int_list(order))}, dtype(x), shape);
  }
  ValueId reshape(ValueId x, Dims shape) {
    return node("prim::reshape", {ref("x", x), arg("shape", int_list(shape))}, dtype(x), shape);
  }
  ValueId expand(ValueId x, Dims shape) {
    return node("prim::expand", {ref("x", x), arg("shape", int_list(shape))}, dtype(x), shape);
  }
  ValueId slice(ValueId x, std::int64_t dim, std::int64_t start, std::int64_t step, std::int64_t extent) {
    Dims shape = dims(x);
    shape[static_cast<std::size_t>(dim)] = extent;
    return node("prim::slice", {ref("x", x), arg("dim", Arg{dim}), arg("start", Arg{start}), arg("step", Arg{step})},
                dtype(x), shape);
  }
  /// A node no template covers.
  ValueId external(const std::vector<ValueId>& operands, DType type, Dims shape) {
    std::vector<NamedArg> args;
    for (const ValueId v : operands) args.push_back(ref("x" + std::to_string(args.size()), v));
    return node("aten::external", std::move(args), type, std::move(shape));
  }

 private:
  static void broadcast(Dims& into, const Dims& other) {
    if (into.size() < other.size()) into.insert(into.begin(), other.size() - into.size(), 1);
    for (std::size_t i = 0; i < other.size(); ++i) {
      std::int64_t& extent = into[into.size() - other.size() + i];
      if (extent == 1) extent = other[i];
    }
  }
};

}  // namespace cudaagent::testing
