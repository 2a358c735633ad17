#include "ir/prims.h"

#include <algorithm>
#include <array>

namespace cudaagent::ir {

namespace {

constexpr std::string_view prefix = "prim::";

// name, arity, predicate, floats, ints, bools, cost
const std::vector<MapFn> table = {
    {"neg", 1, false, true, true, false, 1},
    {"abs", 1, false, true, true, false, 1},
    {"sign", 1, false, true, true, true, 2},
    {"exp", 1, false, true, false, false, 8},
    {"exp2", 1, false, true, false, false, 6},
    {"expm1", 1, false, true, false, false, 12},
    {"log", 1, false, true, false, false, 8},
    {"log2", 1, false, true, false, false, 8},
    {"log10", 1, false, true, false, false, 8},
    {"log1p", 1, false, true, false, false, 12},
    {"sqrt", 1, false, true, false, false, 4},
    {"rsqrt", 1, false, true, false, false, 4},
    {"reciprocal", 1, false, true, false, false, 4},
    {"sigmoid", 1, false, true, false, false, 12},
    {"sin", 1, false, true, false, false, 12},
    {"cos", 1, false, true, false, false, 12},
    {"tan", 1, false, true, false, false, 16},
    {"asin", 1, false, true, false, false, 16},
    {"acos", 1, false, true, false, false, 16},
    {"atan", 1, false, true, false, false, 16},
    {"sinh", 1, false, true, false, false, 16},
    {"cosh", 1, false, true, false, false, 16},
    {"tanh", 1, false, true, false, false, 12},
    {"asinh", 1, false, true, false, false, 20},
    {"acosh", 1, false, true, false, false, 20},
    {"atanh", 1, false, true, false, false, 20},
    {"erf", 1, false, true, false, false, 14},
    {"erfc", 1, false, true, false, false, 16},
    {"erfinv", 1, false, true, false, false, 30},
    {"lgamma", 1, false, true, false, false, 60},
    {"digamma", 1, false, true, false, false, 60},
    {"i0", 1, false, true, false, false, 60},
    {"i1", 1, false, true, false, false, 60},
    {"floor", 1, false, true, true, false, 1},
    {"ceil", 1, false, true, true, false, 1},
    {"round", 1, false, true, true, false, 1},  // half to even
    {"trunc", 1, false, true, true, false, 1},
    {"signbit", 1, true, true, true, false, 1},
    {"isnan", 1, true, true, false, false, 1},
    {"isinf", 1, true, true, false, false, 1},
    {"not", 1, false, false, true, true, 1},  // bitwise; logical on bool
    {"add", 2, false, true, true, false, 1},
    {"sub", 2, false, true, true, false, 1},
    {"mul", 2, false, true, true, false, 1},
    {"div", 2, false, true, false, false, 4},        // true division
    {"div_trunc", 2, false, true, true, false, 8},   // rounding_mode="trunc"
    {"div_floor", 2, false, true, true, false, 10},  // rounding_mode="floor", Python's //
    {"fmod", 2, false, true, true, false, 16},       // sign of the dividend
    {"remainder", 2, false, true, true, false, 18},  // sign of the divisor
    {"pow", 2, false, true, true, false, 20},
    {"atan2", 2, false, true, false, false, 20},
    {"hypot", 2, false, true, false, false, 8},
    {"copysign", 2, false, true, false, false, 1},
    {"nextafter", 2, false, true, false, false, 4},
    {"max", 2, false, true, true, true, 1},   // NaN wins
    {"min", 2, false, true, true, true, 1},   // NaN wins
    {"fmax", 2, false, true, true, true, 1},  // NaN loses
    {"fmin", 2, false, true, true, true, 1},  // NaN loses
    {"eq", 2, true, true, true, true, 1},
    {"ne", 2, true, true, true, true, 1},
    {"lt", 2, true, true, true, true, 1},
    {"le", 2, true, true, true, true, 1},
    {"gt", 2, true, true, true, true, 1},
    {"ge", 2, true, true, true, true, 1},
    {"and", 2, false, false, true, true, 1},
    {"or", 2, false, false, true, true, 1},
    {"xor", 2, false, false, true, true, 1},
    {"shl", 2, false, false, true, false, 1},
    {"shr", 2, false, false, true, false, 1},
    {"where", 3, false, true, true, true, 1},  // where(bool, a, b)
    {"fma", 3, false, true, false, false, 1},
};

constexpr std::array<std::string_view, 8> reduce_names = {"sum",    "prod",   "max", "min",
                                                          "argmax", "argmin", "any", "all"};

std::string_view tail(std::string_view op) { return is_prim(op) ? op.substr(prefix.size()) : std::string_view{}; }

}  // namespace

const std::vector<MapFn>& map_fns() { return table; }

const MapFn* find_map_fn(std::string_view name) {
  const auto it = std::find_if(table.begin(), table.end(), [&](const MapFn& fn) { return fn.name == name; });
  return it == table.end() ? nullptr : &*it;
}

std::optional<ReduceKind> find_reduce_kind(std::string_view name) {
  const auto it = std::find(reduce_names.begin(), reduce_names.end(), name);
  if (it == reduce_names.end()) return std::nullopt;
  return static_cast<ReduceKind>(it - reduce_names.begin());
}

std::string_view reduce_kind_name(ReduceKind kind) { return reduce_names.at(static_cast<std::size_t>(kind)); }

bool is_prim(std::string_view op) { return op.substr(0, prefix.size()) == prefix; }

bool is_map(std::string_view op) {
  const std::string_view name = tail(op);
  return name == "convert" || (!name.empty() && find_map_fn(name) != nullptr);
}

bool is_view(std::string_view op) {
  const std::string_view name = tail(op);
  return name == "permute" || name == "reshape" || name == "expand" || name == "slice";
}

bool is_generator(std::string_view op) {
  const std::string_view name = tail(op);
  return name == "full" || name == "iota";
}

}  // namespace cudaagent::ir
