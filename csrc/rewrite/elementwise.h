// What elementwise rules share: operands brought to one compute type, the result checked against the captured dtype.
#pragma once

#include <initializer_list>
#include <vector>

#include "rewrite/registry.h"

namespace cudaagent::rewrite {

/// Operands of one elementwise computation in the type it is computed in.
struct Unified {
  std::vector<Operand> operands;
  DType common = DType::f32;  ///< torch.result_type; halves are computed in float32
};

/// result_type of the named arguments.
DType common_dtype(const Builder& b, const std::vector<Operand>& operands);
/// The operands converted to compute_dtype(common); when all are numbers the first becomes a 0-dim tensor.
Unified unify(Builder& b, std::vector<Operand> operands, DType common);
/// As above, with the dtype torch gives a float operation: integers and bool become the captured result's dtype.
Unified unify_float(Builder& b, const Call& c, std::vector<Operand> operands);
/// unify in the promoted dtype; refuses when `c` was captured with another result dtype.
Unified unify_checked(Builder& b, const Call& c, std::vector<Operand> operands);

/// The argument in its compute type, for functions of one float tensor.
Val float_input(Builder& b, const Call& c, std::string_view name);

}  // namespace cudaagent::rewrite
