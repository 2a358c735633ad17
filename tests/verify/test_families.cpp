#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/graph_builder.h"
#include "support/plain_host.h"
#include "verify/families.h"

namespace cudaagent::verify {
namespace {

using cudaagent::testing::GraphBuilder;
using cudaagent::testing::PlainHost;
using cudaagent::testing::ref;

class Families : public ::testing::Test {
 protected:
  std::vector<double> draw(Family family, DType dtype, std::vector<std::int64_t> dims, std::uint64_t seed = 1) {
    ir::Value value;
    value.type = {dtype, dims, contiguous_strides(dims), {}};
    value.range_lo = lo;
    value.range_hi = hi;
    const Tensor tensor = host.empty(value.type);
    fill_input({static_cast<std::byte*>(host.data(tensor)), value.type}, value, {family, seed, range}, host);
    return host.values(tensor);
  }
  PlainHost host;
  std::int64_t lo = 0, hi = 0;
  IntegerRange range = IntegerRange::with_negatives;
};

std::pair<double, double> moments(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double v : values) sum += v, squares += v * v;
  const double n = static_cast<double>(values.size()), mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean)};
}

TEST_F(Families, NormalAndShifted) {
  const auto [mean, deviation] = moments(draw(Family::normal, DType::f32, {200, 100}));
  EXPECT_NEAR(mean, 0, 0.03);
  EXPECT_NEAR(deviation, 1, 0.03);
  EXPECT_NEAR(moments(draw(Family::shifted, DType::f32, {200, 100})).first, 32, 0.03);
  const auto positive = draw(Family::positive, DType::f32, {1000});
  EXPECT_GE(*std::min_element(positive.begin(), positive.end()), 0);
}

TEST_F(Families, ReproducibleAndFresh) {
  EXPECT_EQ(draw(Family::normal, DType::f64, {100}, 5), draw(Family::normal, DType::f64, {100}, 5));
  EXPECT_NE(draw(Family::normal, DType::f64, {100}, 5), draw(Family::normal, DType::f64, {100}, 6));
}

// Inputs with short mantissas would make sums exact and hide rounding.
TEST_F(Families, MantissasAreFull) {
  int odd = 0;
  for (const double v : draw(Family::normal, DType::f32, {1000})) {
    int e = 0;
    const double m = std::frexp(v, &e) * 0x1p24;
    odd += std::fmod(std::fabs(m), 2) == 1;
  }
  EXPECT_GT(odd, 400);
}

TEST_F(Families, GradedSpanTwelveDecades) {
  const auto by_rows = draw(Family::graded_rows, DType::f32, {100, 50});
  const auto by_columns = draw(Family::graded_columns, DType::f32, {100, 50});
  const auto largest = [](const std::vector<double>& values, int from, int step, int count) {
    double most = 0;
    for (int i = 0; i < count; ++i) most = std::max(most, std::fabs(values[static_cast<std::size_t>(from + i * step)]));
    return most;
  };
  EXPECT_LT(largest(by_rows, 0, 1, 50), 1e-5);
  EXPECT_GT(largest(by_rows, 99 * 50, 1, 50), 1e5);
  EXPECT_LT(largest(by_columns, 0, 50, 100), 1e-5);
  EXPECT_GT(largest(by_columns, 49, 50, 100), 1e5);
  for (const double v : draw(Family::graded_rows, DType::f16, {100, 50})) EXPECT_TRUE(std::isfinite(v));
}

TEST_F(Families, OutliersIntegersSpecials) {
  const auto outliers = draw(Family::outlier, DType::f32, {5000});
  EXPECT_EQ(std::count_if(outliers.begin(), outliers.end(), [](double v) { return std::fabs(v) > 10; }), 5);
  for (const double v : draw(Family::integers, DType::bf16, {1000})) EXPECT_EQ(v, std::nearbyint(v));
  const auto special = draw(Family::special, DType::f32, {100, 100});
  const auto count = [&](auto&& is) { return std::count_if(special.begin(), special.end(), is); };
  EXPECT_GT(count([](double v) { return std::isnan(v); }), 5);
  EXPECT_GT(count([](double v) { return std::isinf(v) && v > 0; }), 1);
  EXPECT_GT(count([](double v) { return std::isinf(v) && v < 0; }), 1);
  EXPECT_LT(count([](double v) { return !std::isfinite(v); }), 200);
  EXPECT_GT(count([](double v) { return v == 0 && std::signbit(v); }), 10);
  EXPECT_GT(count([](double v) { return v != 0 && std::fabs(v) < 1e-38; }), 10);
}

TEST_F(Families, IntegersKeepTheirRange) {
  const auto inside = [&](DType dtype, double low, double high) {
    const auto values = draw(Family::normal, dtype, {1000});
    EXPECT_EQ(*std::min_element(values.begin(), values.end()), low);
    EXPECT_EQ(*std::max_element(values.begin(), values.end()), high);
  };
  inside(DType::i32, -8, 7);
  inside(DType::u8, 0, 7);
  inside(DType::b8, 0, 1);
  range = IntegerRange::positive;
  inside(DType::i64, 1, 7);
  lo = 3, hi = 5;
  inside(DType::i64, 3, 4);
}

TEST_F(Families, NegativesKeepAwayFromIndices) {
  GraphBuilder b;
  const ir::ValueId x = b.input(DType::i64, {4});
  b.output(b.node("aten::abs", {ref("self", x)}, DType::i64, {4}));
  EXPECT_EQ(widest_range(b.graph), IntegerRange::with_negatives);
  b.graph.nodes[0].op = "aten::one_hot";
  EXPECT_EQ(widest_range(b.graph), IntegerRange::counting);
  EXPECT_EQ(families_for(b.graph).size(), 3u);
}

TEST_F(Families, VeryLargeInputsKeepTheTellingFamilies) {
  const auto families = [](std::int64_t rows) {
    GraphBuilder b;
    const ir::ValueId x = b.input(DType::f32, {rows, 1024});
    b.output(b.node("aten::exp", {ref("self", x)}, DType::f32, {rows, 1024}));
    return families_for(b.graph);
  };
  EXPECT_EQ(families(64 << 10).size(), 8u);
  const std::vector<Family> few = families((64 << 10) + 1);
  EXPECT_EQ(few.size(), 4u);
  EXPECT_NE(std::find(few.begin(), few.end(), Family::special), few.end());
}

TEST_F(Families, PerturbMovesElementsByTheAmount) {
  const Tensor from = host.make(DType::f32, {1000}, std::vector<double>(1000, 3.0));
  const Tensor to = host.make(DType::f64, {1000}, {});
  const auto elements = [&](const Tensor& t) { return Elements{static_cast<std::byte*>(host.data(t)), host.type(t)}; };
  perturb(elements(from), elements(to), 0x1p-36, 1, host);
  std::vector<double> moves;
  for (const double v : host.values(to)) moves.push_back((v / 3 - 1) * 0x1p36);
  const auto [mean, deviation] = moments(moves);
  EXPECT_NEAR(mean, 0, 0.1);
  EXPECT_NEAR(deviation, 1, 0.1);
}

}  // namespace
}  // namespace cudaagent::verify
