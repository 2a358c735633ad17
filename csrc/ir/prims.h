// The primitives: the whole vocabulary between rewrite and codegen.
//
// A primitive node's tensor operands are its arguments that are references, in order; attributes follow by name.
//
//   prim::<fn>(x, ...)              map: elementwise over the broadcast of its operands (torch's rules, aligned right).
//                                   All operands have one dtype, except `where`, whose first is bool. An operand may be
//                                   a constant Arg (bool, int, double), taken in the dtype of the tensor operands.
//                                   Result dtype = operand dtype; bool for predicates.
//   prim::convert(x) -> dtype       element conversion with torch's semantics (float to int truncates, to bool is != 0)
//   prim::full(value)               every element the constant `value`
//   prim::iota(dim, start, step)    element = start + step * index along `dim`; an integer or float dtype
//   prim::reduce(x, kind, dims, keepdim)
//                                   kind: sum prod max min argmax argmin any all. dims ascending, non-negative, never
//                                   empty. Same dtype as x (argmax, argmin: i64, the first index; any, all: bool).
//                                   max, min, argmax, argmin give NaN (its index) when one is met.
//   views, all on logical indices, of any operand layout:
//   prim::permute(x, dims)  prim::reshape(x, shape)  prim::expand(x, shape)  prim::slice(x, dim, start, step)
//                                   the result's dims say the extent; a negative step is a flip
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudaagent::ir {

struct MapFn {
  std::string_view name;
  std::uint8_t arity;
  bool predicate;            ///< result is bool
  bool floats, ints, bools;  ///< operand dtypes it is defined on
  /// Relative cost of one element against an add; 20 and more means a library call.
  std::uint8_t cost;
};

/// The map function of that name, null when there is none.
const MapFn* find_map_fn(std::string_view name);
const std::vector<MapFn>& map_fns();

enum class ReduceKind : std::uint8_t { sum, prod, max, min, argmax, argmin, any, all };
std::optional<ReduceKind> find_reduce_kind(std::string_view name);
std::string_view reduce_kind_name(ReduceKind kind);

bool is_prim(std::string_view op);       ///< "prim::..."
bool is_map(std::string_view op);        ///< a map function or convert
bool is_view(std::string_view op);       ///< permute, reshape, expand, slice
bool is_generator(std::string_view op);  ///< full, iota

}  // namespace cudaagent::ir
