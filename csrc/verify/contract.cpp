#include "verify/contract.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "verify/compare_integers.h"

namespace cudaagent::verify {

namespace {

constexpr std::int64_t block = 4096;

enum class Class : std::uint8_t { finite, nan, plus_infinity, minus_infinity };

Class classify(double value) {
  if (std::isfinite(value)) return Class::finite;
  if (std::isnan(value)) return Class::nan;
  return value > 0 ? Class::plus_infinity : Class::minus_infinity;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// Size below which errors do not count: a few of the smallest normal numbers (of f16, whose range is short, denormals).
double smallest_scale(DType dtype) {
  const double smallest = dtype == DType::f16   ? 0x1p-24
                          : dtype == DType::f64 ? std::numeric_limits<double>::min()
                                                : std::numeric_limits<float>::min();
  return smallest / ulp(dtype);
}

/// Elements that count as one row of the worst-row error: trailing dims until there are enough for a root mean square,
/// so that a row of one element does not turn the statistic into the worst relative error of any element.
std::int64_t statistic_row(const TensorType& type) {
  constexpr std::int64_t enough = 32;
  std::int64_t row = 1;
  for (auto dim = type.dims.rbegin(); dim != type.dims.rend() && row < enough; ++dim) row *= std::max<std::int64_t>(*dim, 1);
  return row;
}

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

class FloatComparison {
 public:
  FloatComparison(const Elements& kernel, const Answer& answer, const Yardstick& yardstick, Rows rows)
      : rows_(rows), kernel_(kernel), eager_(yardstick.elements(answer.eager)), truth_(yardstick.elements(answer.truth)) {
    for (const Tensor& tensor : answer.perturbed) perturbed_.push_back(yardstick.elements(tensor));
    smallest_ = smallest_scale(kernel.type.dtype);
  }

  Comparison run(double floor) {
    const std::int64_t count = kernel_.type.numel(), row = statistic_row(kernel_.type);
    double k[block], e[block], t[block], response[block];
    common_square_ = rows_ == Rows::alike ? mean_square() : 0;
    for (std::int64_t begin = 0; begin < count; begin += block) {
      const std::int64_t length = std::min(block, count - begin);
      read_elements(kernel_, begin, length, k);
      read_elements(eager_, begin, length, e);
      read_elements(truth_, begin, length, t);
      read_response(begin, length, t, response);
      for (std::int64_t i = 0; i < length; ++i) {
        element(begin + i, k[i], e[i], t[i], response[i]);
        if ((begin + i + 1) % row == 0) close_row();
      }
    }
    return finish(floor);
  }

 private:
  /// Of the finite elements of truth.
  double mean_square() const {
    double t[block], sum = 0;
    std::int64_t finite = 0;
    const std::int64_t count = kernel_.type.numel();
    for (std::int64_t begin = 0; begin < count; begin += block) {
      const std::int64_t length = std::min(block, count - begin);
      read_elements(truth_, begin, length, t);
      for (std::int64_t i = 0; i < length; ++i) {
        if (!std::isfinite(t[i])) continue;
        sum += t[i] * t[i];
        ++finite;
      }
    }
    return finite > 0 ? sum / static_cast<double>(finite) : 0;
  }

  /// Mean square of the response to a perturbed input, as a scale.
  void read_response(std::int64_t begin, std::int64_t length, const double* t, double* response) {
    double moved[block];
    std::fill(response, response + length, 0.0);
    for (const Elements& perturbed : perturbed_) {
      read_elements(perturbed, begin, length, moved);
      for (std::int64_t i = 0; i < length; ++i) {
        const double change = (moved[i] - t[i]) / perturbation;
        if (std::isfinite(change)) response[i] += change * change / static_cast<double>(perturbed_.size());
      }
    }
  }

  void element(std::int64_t index, double k, double e, double t, double response) {
    if (std::isfinite(k) && std::isfinite(t)) {
      const double kernel_error = k - t;
      const bool eager_finite = std::isfinite(e);
      const double eager_error = eager_finite ? e - t : 0;
      row_.kernel += kernel_error * kernel_error;
      row_.eager += eager_error * eager_error;
      row_.scale += t * t + response;
      ++row_.count;
      kernel_max_ = std::max(kernel_max_, std::fabs(kernel_error));
      eager_max_ = std::max(eager_max_, std::fabs(eager_error));
      truth_max_ = std::max(truth_max_, std::fabs(t));
      if (eager_finite) return;
    }
    // Where fp64 does not overflow and eager does, either is right.
    const Class own = classify(k);
    if (own == classify(e) || own == classify(t)) return;
    if (mismatches_++ == 0) first_mismatch_ = "element " + std::to_string(index) + " is " + number(k) + ", eager has " + number(e);
  }

  double relative(double square, double scale_square, std::int64_t count) const {
    if (square == 0) return 0;
    const double n = static_cast<double>(count);
    return std::sqrt(square / n) / std::max(std::sqrt(scale_square / n), smallest_);
  }

  void close_row() {
    // Where all rows are drawn alike, a row whose terms happen to cancel has no smaller due than the others.
    const double scale = std::max(row_.scale, common_square_ * static_cast<double>(row_.count));
    errors_.kernel.row = std::max(errors_.kernel.row, relative(row_.kernel, scale, row_.count));
    errors_.eager.row = std::max(errors_.eager.row, relative(row_.eager, scale, row_.count));
    total_.add(row_);
    row_ = {};
  }

  Comparison finish(double floor) {
    if (total_.count > 0) {
      errors_.kernel.rms = relative(total_.kernel, total_.scale, total_.count);
      errors_.eager.rms = relative(total_.eager, total_.scale, total_.count);
      errors_.kernel.max = relative(kernel_max_ * kernel_max_ * total_.count, total_.scale, total_.count);
      errors_.eager.max = relative(eager_max_ * eager_max_ * total_.count, total_.scale, total_.count);
    }
    if (mismatches_ > 0) {
      errors_.failure = "NaN or infinity differs from eager in " + std::to_string(mismatches_) + " elements: " + first_mismatch_;
      return errors_;
    }
    // The largest element may be many times the RMS; its own last bits are its due.
    const double peak = relative(truth_max_ * truth_max_ * total_.count, total_.scale, std::max<std::int64_t>(total_.count, 1));
    limit("relative RMS error", errors_.kernel.rms, errors_.eager.rms, floor);
    limit("largest error", errors_.kernel.max, errors_.eager.max, floor * std::max(1.0, peak));
    limit("worst row's error", errors_.kernel.row, errors_.eager.row, floor, rows_ == Rows::graded ? graded_row_factor : 1);
    return errors_;
  }

  void limit(const char* what, double kernel, double eager, double floor, double leniency = 1) {
    const double allowed = leniency * std::max(eager_factor * eager, floor);
    if (kernel <= allowed || !errors_.failure.empty()) return;
    errors_.failure = std::string(what) + " " + number(kernel) + " is above " + number(allowed) + " (eager " + number(eager) + ")";
  }

  Rows rows_;
  double common_square_ = 0;
  Elements kernel_, eager_, truth_;
  std::vector<Elements> perturbed_;
  double smallest_ = 0;
  Sums row_, total_;
  double kernel_max_ = 0, eager_max_ = 0, truth_max_ = 0;
  std::int64_t mismatches_ = 0;
  std::string first_mismatch_;
  Comparison errors_;
};

}  // namespace

double floor_error(DType output, Precision precision, bool multiplies_matrices) {
  // Few ulp of f32 and f64 cover a library function's last bits; the 16-bit types round once, at the end.
  const double ulps = output == DType::f16 || output == DType::bf16 ? 1 : 4;
  double floor = ulps * ulp(output);
  if (precision == Precision::high && multiplies_matrices) floor = std::max(floor, 0x1p-11);
  if (precision == Precision::medium) floor = std::max(floor, ulp(DType::bf16));
  return floor;
}

Comparison compare(const Elements& kernel, const Answer& answer, const Yardstick& yardstick, double floor,
                   Rows rows) {
  for (const Tensor& expected : {answer.eager, answer.truth}) {
    const TensorType type = yardstick.elements(expected).type;
    if (type.dims != kernel.type.dims) {
      throw InternalError("verify: the kernel makes " + ir::print_type(kernel.type) + ", the captured nodes " +
                          ir::print_type(type));
    }
  }
  if (kernel.type.numel() == 0) return {};
  if (is_float(kernel.type.dtype)) return FloatComparison(kernel, answer, yardstick, rows).run(floor);
  Comparison result;
  result.failure = integer_difference(kernel, answer, yardstick);
  return result;
}

}  // namespace cudaagent::verify
