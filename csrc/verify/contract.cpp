#include "verify/contract.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "verify/compare_integers.h"
#include "verify/error_sums.h"

namespace cudaagent::verify {

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// Size below which errors do not count: a few of the smallest normal numbers (of f16, whose range is short,
/// denormals).
double smallest_scale(DType dtype) {
  const double smallest = dtype == DType::f16   ? 0x1p-24
                          : dtype == DType::f64 ? std::numeric_limits<double>::min()
                                                : std::numeric_limits<float>::min();
  return smallest / ulp(dtype);
}

void limit(Comparison& found, const char* what, double kernel, double eager, double floor) {
  const double allowed = std::max(eager_factor * eager, floor);
  if (kernel <= allowed || !found.failure.empty()) return;
  found.failure =
      std::string(what) + " " + number(kernel) + " is above " + number(allowed) + " (eager " + number(eager) + ")";
}

Comparison judge_part(const Part& part, double floor, double smallest) {
  Comparison found;
  const Sums& total = part.total;
  if (total.count > 0) {
    const auto of_total = [&](double square) { return relative(square, total.scale, total.count, smallest); };
    const auto of_largest = [&](double largest) {
      return of_total(largest * largest * static_cast<double>(total.count));
    };
    found.kernel = {of_total(total.kernel), of_largest(part.kernel_max), part.kernel_row};
    found.eager = {of_total(total.eager), of_largest(part.eager_max), part.eager_row};
    // The largest element may be many times the RMS; its own last bits are its due.
    const double peak = std::max(1.0, of_largest(part.truth_max));
    limit(found, "relative RMS error", found.kernel.rms, found.eager.rms, floor);
    limit(found, "largest error", found.kernel.max, found.eager.max, floor * peak);
    limit(found, "worst row's error", found.kernel.row, found.eager.row, floor);
  }
  if (part.mismatches > 0) {
    found.failure = "NaN or infinity differs from eager in " + std::to_string(part.mismatches) + " elements: element " +
                    std::to_string(part.first_mismatch) + " is " + number(part.mismatch_kernel) + ", eager has " +
                    number(part.mismatch_eager) + ", fp64 " + number(part.mismatch_truth);
  }
  return found;
}

}  // namespace

double floor_error(DType output, Precision precision, bool multiplies_matrices) {
  // Few ulp of f32 and f64 cover a library function's last bits; the 16-bit types round once, at the end.
  const double ulps = output == DType::f16 || output == DType::bf16 ? 1 : 4;
  double floor = ulps * ulp(output);
  if (precision == Precision::high && multiplies_matrices) floor = std::max(floor, 0x1p-11);
  if (precision == Precision::medium) floor = std::max(floor, ulp(DType::bf16));
  return floor;
}

Comparison compare(const Elements& kernel, const Answer& answer, const Yardstick& yardstick, double floor, Rows rows) {
  for (const Tensor& expected : {answer.eager, answer.truth}) {
    const TensorType type = yardstick.elements(expected).type;
    if (type.dims != kernel.type.dims) {
      throw InternalError("verify: the kernel makes " + ir::print_type(kernel.type) + ", the captured nodes " +
                          ir::print_type(type));
    }
  }
  if (kernel.type.numel() == 0) return {};
  if (is_float(kernel.type.dtype)) {
    const double smallest = smallest_scale(kernel.type.dtype);
    return judge_part(sum_errors(kernel, answer, yardstick, rows, smallest), floor, smallest);
  }
  Comparison result;
  result.failure = integer_difference(kernel, answer, yardstick);
  return result;
}

}  // namespace cudaagent::verify
