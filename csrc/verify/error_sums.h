// One pass over kernel, eager and truth: sums of squared errors, in all and by row, and where infinities and NaN
// differ.
#pragma once

#include <algorithm>
#include <cstdint>

#include "verify/contract.h"

namespace cudaagent::verify {

/// Sums of squares over some elements.
struct Sums {
  double kernel = 0, eager = 0, scale = 0;
  std::int64_t count = 0;

  void add(const Sums& other) {
    kernel += other.kernel;
    eager += other.eager;
    scale += other.scale;
    count += other.count;
  }
};

/// What some rows add up to; parts of different rows merge in any order.
struct Part {
  Sums total;
  double kernel_row = 0, eager_row = 0;  ///< worst
  double kernel_max = 0, eager_max = 0, truth_max = 0;
  std::int64_t mismatches = 0;
  std::int64_t first_mismatch = -1;
  double mismatch_kernel = 0, mismatch_eager = 0, mismatch_truth = 0;

  void merge(const Part& other) {
    total.add(other.total);
    kernel_row = std::max(kernel_row, other.kernel_row);
    eager_row = std::max(eager_row, other.eager_row);
    kernel_max = std::max(kernel_max, other.kernel_max);
    eager_max = std::max(eager_max, other.eager_max);
    truth_max = std::max(truth_max, other.truth_max);
    mismatches += other.mismatches;
    if (other.first_mismatch >= 0 && (first_mismatch < 0 || other.first_mismatch < first_mismatch)) {
      first_mismatch = other.first_mismatch;
      mismatch_kernel = other.mismatch_kernel;
      mismatch_eager = other.mismatch_eager;
      mismatch_truth = other.mismatch_truth;
    }
  }
};

/// Root of square / count relative to the root of scale_square / count, which counts as at least `smallest`.
double relative(double square, double scale_square, std::int64_t count, double smallest);

/// Over every element, on the host's threads. Scales below `smallest` count as `smallest`.
Part sum_errors(const Elements& kernel, const Answer& answer, const Yardstick& yardstick, Rows rows, double smallest);

}  // namespace cudaagent::verify
