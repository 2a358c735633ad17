// A captured node as its decomposition reads it: arguments by schema name, and the outputs it must yield.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "rewrite/builder.h"

namespace cudaagent::rewrite {

/// Arguments that are absent or None read as the fallback. One of another kind than asked for (a symbol where an
/// integer is meant) makes the builder refuse the node, and the fallback is returned.
class Call {
 public:
  /// `map[v]` is the value in the graph under construction that captured value v became.
  Call(const ir::Graph& captured, const ir::Node& node, std::vector<ir::ValueId>& map, Builder& builder);

  bool has(std::string_view name) const;
  bool is_tensor(std::string_view name) const;

  Val tensor(std::string_view name) const;
  std::vector<Val> tensors(std::string_view name) const;
  /// A tensor, or a number standing in a tensor's or a Scalar's place.
  Operand operand(std::string_view name) const;
  Arg scalar(std::string_view name, Arg fallback) const;
  double number(std::string_view name, double fallback) const;
  std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  bool flag(std::string_view name, bool fallback) const;
  /// A list of integers; one integer is a list of one.
  Dims ints(std::string_view name) const;
  DType dtype(std::string_view name, DType fallback) const;
  std::string_view text(std::string_view name, std::string_view fallback) const;

  std::size_t outputs() const { return node_.outputs.size(); }
  bool used(std::size_t k) const { return k < outputs() && node_.outputs[k] != ir::no_value; }
  /// The captured type of output k; of the first used one when k is unused.
  const TensorType& out(std::size_t k = 0) const;
  /// Strides and dims the captured graph gives a tensor argument.
  const TensorType& captured_type(std::string_view name) const;

  /// Output k is x, converted to the captured dtype, in memory of its own: a view of an operand is copied.
  void yield(std::size_t k, Val x) const;
  void yield(Val x) const { yield(0, x); }
  /// Output k is x and may share memory with an operand, as eager's does.
  void yield_alias(std::size_t k, Val x) const;
  void yield_alias(Val x) const { yield_alias(0, x); }
  /// The argument is a class index in [0, classes): verification draws it from there.
  void bound(Val x, std::int64_t classes) const;

 private:
  const Arg* find(std::string_view name) const;
  void wrong(std::string_view name, const char* wanted) const;
  Val mapped(ir::ValueId captured) const;

  const ir::Graph& captured_;
  const ir::Node& node_;
  std::vector<ir::ValueId>& map_;
  Builder& builder_;
};

}  // namespace cudaagent::rewrite
