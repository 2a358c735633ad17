#include "verify/error_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

namespace cudaagent::verify {

namespace {

constexpr std::int64_t block = 4096;

enum class Class : std::uint8_t { finite, nan, plus_infinity, minus_infinity };

Class classify(double value) {
  if (std::isfinite(value)) return Class::finite;
  if (std::isnan(value)) return Class::nan;
  return value > 0 ? Class::plus_infinity : Class::minus_infinity;
}

/// Elements that count as one row of the worst-row error: trailing dims until there are enough for a root mean square,
/// so that a row of one element does not turn the statistic into the worst relative error of any element.
std::int64_t statistic_row(const TensorType& type) {
  constexpr std::int64_t enough = 8;
  std::int64_t row = 1;
  for (auto dim = type.dims.rbegin(); dim != type.dims.rend() && row < enough; ++dim)
    row *= std::max<std::int64_t>(*dim, 1);
  return row;
}

/// The tensors of one comparison.
struct Tensors {
  Tensors(const Elements& of_kernel, const Answer& answer, const Yardstick& yardstick)
      : kernel(of_kernel), eager(yardstick.elements(answer.eager)), truth(yardstick.elements(answer.truth)) {
    for (const Tensor& tensor : answer.perturbed) perturbed.push_back(yardstick.elements(tensor));
    for (const Tensor& tensor : answer.nudged) nudged.push_back(yardstick.elements(tensor));
  }
  Elements kernel, eager, truth;
  std::vector<Elements> perturbed, nudged;
};

/// Goes over a range of whole rows.
class Walk {
 public:
  Walk(const Tensors& tensors, std::int64_t row, double common_square, double smallest)
      : tensors_(tensors),
        row_length_(row),
        common_square_(common_square),
        smallest_(smallest),
        overflow_(largest_finite(tensors.kernel.type.dtype) * (1 - 4 * ulp(tensors.kernel.type.dtype))) {}

  Part run(std::int64_t from, std::int64_t to) {
    double k[block], e[block], t[block], response[block];
    for (std::int64_t begin = from; begin < to; begin += block) {
      const std::int64_t length = std::min(block, to - begin);
      read_elements(tensors_.kernel, begin, length, k);
      read_elements(tensors_.eager, begin, length, e);
      read_elements(tensors_.truth, begin, length, t);
      read_response(begin, length, t, response);
      for (std::int64_t i = 0; i < length; ++i) {
        element(begin + i, k[i], e[i], t[i], response[i]);
        if (++in_row_ == row_length_) close_row(begin + i + 1 - row_length_);
      }
    }
    return part_;
  }

 private:
  /// Mean square of the response to a perturbed input, as a scale.
  void read_response(std::int64_t begin, std::int64_t length, const double* t, double* response) {
    double moved[block];
    std::fill(response, response + length, 0.0);
    for (const Elements& perturbed : tensors_.perturbed) {
      read_elements(perturbed, begin, length, moved);
      for (std::int64_t i = 0; i < length; ++i) {
        const double change = (moved[i] - t[i]) / perturbation;
        if (std::isfinite(change)) response[i] += change * change / static_cast<double>(tensors_.perturbed.size());
      }
    }
  }

  /// Of a row that is zero in truth and flat there: the square of what its terms give once they are nudged.
  double scale_behind_zeros(std::int64_t begin) const {
    double moved[block], sum = 0;
    for (const Elements& nudged : tensors_.nudged) {
      for (std::int64_t at = 0; at < row_length_; at += block) {
        const std::int64_t length = std::min(block, row_length_ - at);
        read_elements(nudged, begin + at, length, moved);
        for (std::int64_t i = 0; i < length; ++i) {
          const double change = moved[i] / nudge;
          if (std::isfinite(change)) sum += change * change / static_cast<double>(tensors_.nudged.size());
        }
      }
    }
    return sum;
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
      part_.kernel_max = std::max(part_.kernel_max, std::fabs(kernel_error));
      part_.eager_max = std::max(part_.eager_max, std::fabs(eager_error));
      part_.truth_max = std::max(part_.truth_max, std::fabs(t));
      if (eager_finite) return;
    }
    // Where eager overflows on the way and fp64 does not, the kernel may overflow as well, to infinity or NaN.
    if (std::isfinite(t) && !std::isfinite(e)) return;
    // And fp64 may lie beyond the output's range.
    const Class own = classify(k);
    const double rounded = std::fabs(t) > overflow_ ? std::copysign(std::numeric_limits<double>::infinity(), t) : t;
    if (own == classify(e) || own == classify(t) || own == classify(rounded)) return;
    if (part_.mismatches++ == 0) {
      part_.first_mismatch = index;
      part_.mismatch_kernel = k;
      part_.mismatch_eager = e;
      part_.mismatch_truth = t;
    }
  }

  void close_row(std::int64_t begin) {
    // Where all rows are drawn alike, a row whose terms happen to cancel has no smaller due than the others.
    double scale = std::max(row_.scale, common_square_ * static_cast<double>(row_.count));
    if (scale == 0 && row_.kernel > 0) scale = scale_behind_zeros(begin);
    part_.kernel_row = std::max(part_.kernel_row, relative(row_.kernel, scale, row_.count, smallest_));
    part_.eager_row = std::max(part_.eager_row, relative(row_.eager, scale, row_.count, smallest_));
    part_.total.add(row_);
    row_ = {};
    in_row_ = 0;
  }

  const Tensors& tensors_;
  std::int64_t row_length_, in_row_ = 0;
  double common_square_, smallest_, overflow_;
  Sums row_;
  Part part_;
};

/// Mean square of the finite elements.
double mean_square(const Elements& elements, TensorHost& host) {
  std::mutex mutex;
  double total = 0;
  std::int64_t finite = 0;
  host.parallel_for(elements.type.numel(), parallel_grain, [&](std::int64_t from, std::int64_t to) {
    double values[block], sum = 0;
    std::int64_t count = 0;
    for (std::int64_t begin = from; begin < to; begin += block) {
      const std::int64_t length = std::min(block, to - begin);
      read_elements(elements, begin, length, values);
      for (std::int64_t i = 0; i < length; ++i) {
        if (!std::isfinite(values[i])) continue;
        sum += values[i] * values[i];
        ++count;
      }
    }
    const std::lock_guard lock(mutex);
    total += sum;
    finite += count;
  });
  return finite > 0 ? total / static_cast<double>(finite) : 0;
}

}  // namespace

double relative(double square, double scale_square, std::int64_t count, double smallest) {
  if (square == 0) return 0;
  const double n = static_cast<double>(count);
  return std::sqrt(square / n) / std::max(std::sqrt(scale_square / n), smallest);
}

Part sum_errors(const Elements& kernel, const Answer& answer, const Yardstick& yardstick, Rows rows, double smallest) {
  const Tensors tensors(kernel, answer, yardstick);
  TensorHost& host = yardstick.host();
  const double common = rows == Rows::alike ? mean_square(tensors.truth, host) : 0;
  const std::int64_t row = statistic_row(tensors.kernel.type);
  std::mutex mutex;
  Part all;
  host.parallel_for(tensors.kernel.type.numel() / row, std::max<std::int64_t>(1, parallel_grain / row),
                    [&](std::int64_t from, std::int64_t to) {
                      const Part part = Walk(tensors, row, common, smallest).run(from * row, to * row);
                      const std::lock_guard lock(mutex);
                      all.merge(part);
                    });
  return all;
}

}  // namespace cudaagent::verify
