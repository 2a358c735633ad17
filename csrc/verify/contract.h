// The precision contract: one output of a kernel against truth, with eager's own error as the measure.
//
// Errors are relative to the size of what is computed: an element's own magnitude, or where terms cancelled the size of
// those terms (the response of fp64 truth to a perturbed input). Without the second, a sum that happens to fall near
// zero would make any two correct kernels differ by an arbitrary factor.
#pragma once

#include <string>

#include "verify/yardstick.h"

namespace cudaagent::verify {

struct Errors {
  double rms = 0, max = 0, row = 0;
};

struct Comparison {
  Errors kernel, eager;
  std::string failure;  ///< empty when inside the contract
};

/// Allowed: twice eager's error, and never less than floor_ulps of the output's dtype.
inline constexpr double eager_factor = 2;
double floor_error(DType output, Precision precision, bool multiplies_matrices);

/// How an input family draws rows, which decides what a row's error is relative to: where all are alike, at least the
/// RMS of the whole output; where rows are graded over many orders, the row's own size.
enum class Rows : std::uint8_t { alike, graded };

/// `kernel` is the output's memory as the kernel left it.
Comparison compare(const Elements& kernel, const Answer& answer, const Yardstick& yardstick, double floor, Rows rows);

}  // namespace cudaagent::verify
