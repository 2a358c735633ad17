// Public header of the room `ir`: the typed tensor graph, its checker, printer and fingerprint.
//
// Two levels share one structure. After capture every node is an ATen operator ("aten::add.Tensor"). The rewrite room
// replaces what the templates cover by primitives ("prim::..."), listed in ir/prims.h; what stays aten:: is extern.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/base.h"

namespace cudaagent::ir {

using ValueId = std::int32_t;
inline constexpr ValueId no_value = -1;

/// What a graph input is to the module it came from.
enum class InputKind : std::uint8_t { user, parameter, buffer, constant };

struct Value {
  std::string name;
  TensorType type;
  /// Id, in the captured graph, of the value this one equals; no_value for intermediates a rewrite made up.
  ValueId origin = no_value;
  /// Integer values whose meaning bounds them (class indices): [lo, hi); lo == hi means unknown.
  std::int64_t range_lo = 0, range_hi = 0;
};

struct Node {
  std::string op;  ///< "aten::name.overload" or "prim::name"
  std::vector<NamedArg> args;
  std::vector<ValueId> outputs;  ///< no_value for a return that is not a tensor or is unused
  /// Index, in the captured graph, of the node this one was made from; -1 in the captured graph itself.
  std::int32_t origin = -1;
  /// On prim::convert: inserted by a decomposition to reach the compute type, so a round trip may be elided.
  bool implicit = false;
};

struct Input {
  ValueId value = no_value;
  InputKind kind = InputKind::user;
  std::string target;  ///< fully qualified name of the parameter or buffer
};

/// One thing the program returns: a tensor, or a constant (None, int, ...).
struct Output {
  ValueId value = no_value;
  Arg constant;
  /// The graph input whose storage this output shares (a view of it, or itself); no_value when it is fresh.
  ValueId alias_of = no_value;
};

/// After the run, input `input` holds the contents of `value` (buffers of batch norm, x.add_(1)).
struct Mutation {
  ValueId input = no_value;
  ValueId value = no_value;
};

struct Graph {
  std::vector<Value> values;  ///< indexed by ValueId
  std::vector<Input> inputs;
  std::vector<Node> nodes;  ///< in an order that runs
  std::vector<Output> outputs;
  std::vector<Mutation> mutations;

  const TensorType& type(ValueId id) const { return values.at(static_cast<std::size_t>(id)).type; }
  ValueId add_value(Value value);
};

/// producer[v] = index of the node that makes v, -1 for inputs.
std::vector<std::int32_t> producers(const Graph& graph);
/// users[v] = nodes that read v, ascending, each once.
std::vector<std::vector<std::int32_t>> users(const Graph& graph);

/// Throws InternalError naming the first broken rule: every reference defined before use, one producer a value,
/// types well formed, prim:: nodes with the operands and attributes ir/prims.h demands.
void check(const Graph& graph);

/// The subgraph of `nodes` (ascending indices): its inputs are what it reads and does not make, its outputs `outputs`.
/// Value ids are renumbered; `Value::origin` of each is its id in `graph`.
Graph subgraph(const Graph& graph, const std::vector<std::int32_t>& nodes, const std::vector<ValueId>& outputs);

/// One line a node: "%5: f32[4, 8] = prim::add(%1, %3)".
std::string print(const Graph& graph);
std::string print_type(const TensorType& type);  ///< "f32[4, 8]"; strides and device only where not the plain ones
std::string print_arg(const Arg& arg);

/// SHA-256 of the canonical form: values renumbered by first use; names, origins and targets left out.
std::string fingerprint(const Graph& graph);

void to_json(Json& json, const Graph& graph);
void from_json(const Json& json, Graph& graph);  ///< throws UserError on a document that is not a graph

}  // namespace cudaagent::ir
