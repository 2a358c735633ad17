#include "verify/families.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "verify/random.h"

namespace cudaagent::verify {

namespace {

constexpr std::array<const char*, 8> names = {"normal",         "positive", "shifted",  "graded rows",
                                              "graded columns", "outlier",  "integers", "special"};

constexpr double shift = 32;
constexpr double outlier_scale = 1e4;
constexpr std::uint64_t second_stream = 0x5bd1e9955bd1e995u;

double denormal(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return std::ldexp(1.0, -1030);
    case DType::f16:
      return std::ldexp(1.0, -16);
    default:
      return std::ldexp(1.0, -130);
  }
}

/// Elements of one float input.
class FloatSource {
 public:
  FloatSource(const TensorType& type, const Draw& draw)
      : dtype_(type.dtype), family_(draw.family), seed_(draw.seed), columns_(row_length(type)) {
    const std::int64_t count = type.numel();
    rows_ = columns_ ? count / columns_ : 0;
    // Few enough that most rows and columns of a matrix stay finite.
    infinite_ = count ? 0.5 / std::sqrt(static_cast<double>(count)) : 0;
    outliers_ = std::max<std::int64_t>(1, count / 1000);
    stride_ = count / outliers_;
    decades_ = dtype_ == DType::f16 ? 3 : 6;
  }

  double at(std::int64_t index) const {
    const std::uint64_t bits = random_bits(seed_, index);
    const double z = normal(bits);
    switch (family_) {
      case Family::normal:
        return z;
      case Family::positive:
        return std::fabs(z);
      case Family::shifted:
        return shift + z;
      case Family::graded_rows:
        return z * (rows_ > 1 ? grade(index / columns_, rows_) : grade(index, columns_));
      case Family::graded_columns:
        return z * (columns_ > 1 ? grade(index % columns_, columns_) : grade(index, rows_));
      case Family::outlier:
        return index % stride_ == stride_ / 2 ? z * outlier_scale : z;
      case Family::integers:
        return std::clamp(std::nearbyint(2.5 * z), -8.0, 8.0);
      case Family::special:
        return special(z, random_bits(seed_ ^ second_stream, index));
    }
    throw InternalError("fill_input: not a family");
  }

 private:
  double grade(std::int64_t position, std::int64_t count) const {
    if (count < 2) return 1;
    const double along = static_cast<double>(position) / static_cast<double>(count - 1);
    return std::exp2((2 * along - 1) * decades_ * 3.321928094887362);
  }

  double special(double z, std::uint64_t bits) const {
    const double u = uniform(bits);
    const std::uint64_t kind = bits & 3;
    if (u < infinite_) {
      if (kind < 2) return std::numeric_limits<double>::quiet_NaN();
      return kind == 2 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
    }
    if (u > infinite_ + 0.06) return z;
    if (kind == 0) return 0.0;
    if (kind == 1) return -0.0;
    return kind == 2 ? denormal(dtype_) : -denormal(dtype_);
  }

  DType dtype_;
  Family family_;
  std::uint64_t seed_;
  std::int64_t columns_, rows_ = 0, outliers_ = 1, stride_ = 1;
  double infinite_ = 0, decades_ = 6;
};

/// [lo, hi) of an integer input.
std::pair<std::int64_t, std::int64_t> bounds(const ir::Value& value, IntegerRange range) {
  if (value.type.dtype == DType::b8) return {0, 2};
  if (value.range_lo < value.range_hi) return {value.range_lo, value.range_hi};
  if (range == IntegerRange::positive) return {1, 8};
  const bool negatives = range == IntegerRange::with_negatives && value.type.dtype != DType::u8;
  return {negatives ? -8 : 0, 8};
}

/// Calls make(first index, count, values) for blocks of the tensor and stores what it makes.
template <class Make>
void fill_blocks(const Elements& to, TensorHost& host, const Make& make) {
  constexpr std::int64_t block = 4096;
  host.parallel_for(to.type.numel(), parallel_grain, [&](std::int64_t from, std::int64_t end) {
    double values[block];
    for (std::int64_t begin = from; begin < end; begin += block) {
      const std::int64_t length = std::min(block, end - begin);
      make(begin, length, values);
      write_elements(to, begin, length, values);
    }
  });
}

template <class At>
void fill(const Elements& to, TensorHost& host, const At& at) {
  fill_blocks(to, host, [&](std::int64_t begin, std::int64_t count, double* values) {
    for (std::int64_t i = 0; i < count; ++i) values[i] = at(begin + i);
  });
}

bool any_float_input(const ir::Graph& truth) {
  return std::any_of(truth.inputs.begin(), truth.inputs.end(),
                     [&](const ir::Input& input) { return is_float(truth.type(input.value).dtype); });
}

std::int64_t input_elements(const ir::Graph& truth) {
  std::int64_t elements = 0;
  for (const ir::Input& input : truth.inputs) elements += truth.type(input.value).numel();
  return elements;
}

}  // namespace

const char* family_name(Family family) { return names.at(static_cast<std::size_t>(family)); }

std::vector<Family> families_for(const ir::Graph& truth) {
  // Past this a family takes several seconds; those kept are the ones that told wrong kernels from right ones.
  constexpr std::int64_t many_elements = std::int64_t{1} << 26;
  if (truth.inputs.empty()) return {Family::normal};
  if (!any_float_input(truth)) return {Family::normal, Family::shifted, Family::special};
  if (input_elements(truth) > many_elements) {
    return {Family::normal, Family::shifted, Family::graded_rows, Family::special};
  }
  return {Family::normal,         Family::positive, Family::shifted,  Family::graded_rows,
          Family::graded_columns, Family::outlier,  Family::integers, Family::special};
}

IntegerRange widest_range(const ir::Graph& truth) {
  constexpr std::array<const char*, 12> wary = {"index", "gather",  "scatter",  "embedding", "take", "one_hot",
                                                "nll",   "entropy", "bincount", "shift",     "pow",  "select"};
  for (const ir::Node& node : truth.nodes) {
    for (const char* part : wary) {
      if (node.op.find(part) != std::string::npos) return IntegerRange::counting;
    }
  }
  return IntegerRange::with_negatives;
}

void fill_input(const Elements& to, const ir::Value& value, const Draw& draw, TensorHost& host) {
  if (is_float(to.type.dtype)) {
    const FloatSource source(to.type, draw);
    return fill(to, host, [&](std::int64_t index) { return source.at(index); });
  }
  const auto [lo, hi] = bounds(value, draw.integers);
  const auto extent = static_cast<std::uint64_t>(hi - lo);
  fill(to, host, [&, lo = lo](std::int64_t index) {
    return static_cast<double>(lo + static_cast<std::int64_t>(random_bits(draw.seed, index) % extent));
  });
}

void perturb(const Elements& from, const Elements& to, double amount, std::uint64_t seed, TensorHost& host) {
  const double width = amount * std::sqrt(3.0);
  fill_blocks(to, host, [&](std::int64_t begin, std::int64_t count, double* values) {
    read_elements(from, begin, count, values);
    for (std::int64_t i = 0; i < count; ++i) values[i] *= 1 + width * (2 * uniform(random_bits(seed, begin + i)) - 1);
  });
}

}  // namespace cudaagent::verify
