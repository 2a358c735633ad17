// The map functions and reductions of ir/prims.h on doubles, for interpreters in tests: exact in integers up to 2^53,
// never rounded to a narrower float.
#pragma once

#include <string>
#include <vector>

#include "base/base.h"
#include "ir/prims.h"

namespace cudaagent::testing {

/// `dtype` is that of the operands (of `where`: of the last two).
double apply_map(const std::string& fn, DType dtype, const std::vector<double>& operands);
/// As prim::convert: to an integer truncates and wraps, to bool is != 0.
double convert_element(double value, DType dtype);
double constant_element(const Arg& constant, DType dtype);

/// A reduction that takes elements in order.
class Accumulator {
 public:
  Accumulator(ir::ReduceKind kind, DType dtype);
  void take(double value);
  double result() const;

 private:
  ir::ReduceKind kind_;
  DType dtype_;
  double value_;
  double index_ = 0, count_ = 0;
};

}  // namespace cudaagent::testing
