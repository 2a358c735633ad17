// What a decomposition writes with: primitives appended to the graph under construction, types inferred.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace cudaagent::rewrite {

using Dims = std::vector<std::int64_t>;

/// A value of the graph under construction.
struct Val {
  ir::ValueId id = ir::no_value;
};

/// An operand of a map function: a value or a number.
class Operand {
 public:
  Operand(Val value) : value_(value) {}                                // NOLINT: implicit by intent
  Operand(double number) : number_{number} {}                          // NOLINT: implicit by intent
  Operand(int number) : number_{static_cast<std::int64_t>(number)} {}  // NOLINT: implicit by intent
  explicit Operand(Arg number) : number_(std::move(number)) {}

  bool is_value() const { return value_.id != ir::no_value; }
  Val value() const { return value_; }
  const Arg& number() const { return number_; }

 private:
  Val value_;
  Arg number_;
};

/// Writes the primitives of one captured node. Every method leaves the graph well typed; what cannot be expressed is
/// noted by refuse(), after which the caller discards everything written.
class Builder {
 public:
  Builder(ir::Graph& graph, std::int32_t origin, Device device);
  const Device& device() const { return device_; }

  void refuse(std::string why);  ///< the first reason stays
  const std::string& refusal() const { return refusal_; }

  // By value: the graph's table of values moves when the next primitive is written.
  TensorType type(Val x) const { return graph_.type(x.id); }
  Dims dims(Val x) const { return graph_.type(x.id).dims; }
  DType dtype(Val x) const { return graph_.type(x.id).dtype; }
  std::int64_t rank(Val x) const { return static_cast<std::int64_t>(graph_.type(x.id).dims.size()); }
  std::int64_t extent(Val x, std::int64_t dim) const {
    return graph_.type(x.id).dims.at(static_cast<std::size_t>(dim));
  }

  /// A map function of ir/prims.h over the broadcast of its operands. On bool, add and mul are or and and.
  Val operator()(std::string_view fn, std::initializer_list<Operand> operands) { return map(fn, operands); }
  Val operator()(std::string_view fn, Operand a) { return map(fn, {a}); }
  Val operator()(std::string_view fn, Operand a, Operand b) { return map(fn, {a, b}); }
  Val operator()(std::string_view fn, Operand a, Operand b, Operand c) { return map(fn, {a, b, c}); }
  Val map(std::string_view fn, std::vector<Operand> operands);
  /// where(condition, a, b); `dtype` decides when both are numbers.
  Val where(Val condition, Operand a, Operand b, DType dtype);

  /// Element conversion. To and from half it counts as implicit: a step to the compute type, not the user's wish.
  Val to(Val x, DType dtype);
  Val convert(Val x, DType dtype, bool implicit);
  /// The same elements in memory of their own.
  Val copy(Val x) { return convert(x, dtype(x), false); }
  /// x in the type that arithmetic of dtype `common` is computed in, passing through `common` as torch does.
  Val compute(Val x, DType common);

  Val full(const Dims& dims, DType dtype, const Arg& value);
  Val iota(const Dims& dims, DType dtype, std::int64_t dim, const Arg& start, const Arg& step);
  /// 0, 1, 2, ... along `dim` of a shape of `rank` dims, the others of extent 1.
  Val positions(std::int64_t rank, std::int64_t dim, std::int64_t extent);

  /// `dims` as axes() gives them. A 0-dim operand is reduced as one element.
  Val reduce(std::string_view kind, Val x, const Dims& dims, bool keepdim);
  /// Wrapped, sorted, each once; an empty list means every dim.
  Dims axes(Val x, Dims dims);
  /// dim counted from the front, for a tensor of `rank` dims (0-dim tensors accept 0 and -1).
  std::int64_t axis(std::int64_t dim, std::int64_t rank);
  double count(Val x, const Dims& dims) const;  ///< elements under each result of a reduction

  Val permute(Val x, const Dims& order);
  Val reshape(Val x, const Dims& dims);
  Val expand(Val x, const Dims& dims);
  /// `extent` elements along `dim` from `start`, `step` apart.
  Val slice(Val x, std::int64_t dim, std::int64_t start, std::int64_t step, std::int64_t extent);
  Val unsqueeze(Val x, std::int64_t dim);
  Val squeeze(Val x, std::int64_t dim);

  /// True for a value this builder made.
  bool fresh(Val x) const { return x.id >= first_; }
  /// True when x is, through views alone, a value this builder did not make.
  bool views_foreign(Val x) const;
  ir::Graph& graph() { return graph_; }

 private:
  Val emit(std::string op, std::vector<NamedArg> args, DType dtype, Dims dims, bool implicit = false);
  Dims broadcast(const std::vector<Operand>& operands);

  ir::Graph& graph_;
  std::int32_t origin_;
  Device device_;
  ir::ValueId first_;
  std::string refusal_;
};

/// The shape two shapes broadcast to; false when they do not.
bool broadcast_dims(const Dims& a, const Dims& b, Dims& out);

}  // namespace cudaagent::rewrite
