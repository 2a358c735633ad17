#include "verify/compare_integers.h"

#include <algorithm>
#include <cmath>

namespace cudaagent::verify {

namespace {

constexpr std::int64_t block = 4096;
constexpr double equal_ulps = 4;

/// The values an index output points into.
class PointedAt {
 public:
  PointedAt(const Elements& values, std::optional<std::int64_t> dim, DType dtype)
      : values_(values), tolerance_(equal_ulps * ulp(dtype)) {
    const auto& dims = values.type.dims;
    extent_ = dim ? dims[static_cast<std::size_t>(*dim)] : values.type.numel();
    for (std::size_t d = dim ? static_cast<std::size_t>(*dim) + 1 : dims.size(); d < dims.size(); ++d)
      inner_ *= dims[d];
  }

  /// Do indices `a` and `b` of output element `output` point at equal values?
  bool equal(std::int64_t output, std::int64_t a, std::int64_t b) const {
    if (std::min(a, b) < 0 || std::max(a, b) >= extent_) return false;
    const double x = at(output, a), y = at(output, b);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    return x == y || std::fabs(x - y) <= tolerance_ * std::max(std::fabs(x), std::fabs(y));
  }

 private:
  double at(std::int64_t output, std::int64_t index) const {
    double value = 0;
    read_elements(values_, (output / inner_ * extent_ + index) * inner_ + output % inner_, 1, &value);
    return value;
  }

  Elements values_;
  double tolerance_;
  std::int64_t extent_ = 1, inner_ = 1;
};

/// A bool is one byte, 0 or 1; anything else is undefined behaviour for whoever reads it.
std::string invalid_bool(const Elements& kernel) {
  Elements bytes = kernel;
  bytes.type.dtype = DType::u8;
  std::int64_t values[block];
  const std::int64_t count = kernel.type.numel();
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const std::int64_t length = std::min(block, count - begin);
    read_integers(bytes, begin, length, values);
    for (std::int64_t i = 0; i < length; ++i) {
      if (values[i] > 1)
        return "bool element " + std::to_string(begin + i) + " holds the byte " + std::to_string(values[i]);
    }
  }
  return "";
}

}  // namespace

std::string integer_difference(const Elements& kernel, const Answer& answer, const Yardstick& yardstick) {
  if (kernel.type.dtype == DType::b8) {
    if (std::string invalid = invalid_bool(kernel); !invalid.empty()) return invalid;
  }
  const Elements eager = yardstick.elements(answer.eager), truth = yardstick.elements(answer.truth);
  std::optional<PointedAt> pointed;
  if (answer.pointed_at) pointed.emplace(yardstick.elements(answer.pointed_at), answer.dim, answer.pointed_dtype);

  std::int64_t k[block], e[block], t[block], wrong = 0, eager_wrong = 0;
  std::string first;
  const std::int64_t count = kernel.type.numel();
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const std::int64_t length = std::min(block, count - begin);
    read_integers(kernel, begin, length, k);
    read_integers(eager, begin, length, e);
    read_integers(truth, begin, length, t);
    for (std::int64_t i = 0; i < length; ++i) {
      eager_wrong += e[i] != t[i];
      if (k[i] == e[i] || k[i] == t[i] || (pointed && pointed->equal(begin + i, k[i], e[i]))) continue;
      if (wrong++ == 0) {
        first = "element " + std::to_string(begin + i) + " is " + std::to_string(k[i]) + ", eager has " +
                std::to_string(e[i]);
      }
    }
  }
  if (wrong <= 2 * eager_wrong) return "";
  return std::to_string(wrong) + " of " + std::to_string(count) + " elements are wrong: " + first;
}

}  // namespace cudaagent::verify
