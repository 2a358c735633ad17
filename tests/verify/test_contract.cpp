// Limits and masks, on numbers written by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/graph_builder.h"
#include "support/plain_host.h"
#include "verify/contract.h"

namespace cudaagent::verify {
namespace {

using cudaagent::testing::GraphBuilder;
using cudaagent::testing::PlainHost;
using cudaagent::testing::ref;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

class Contract : public ::testing::Test {
 protected:
  Comparison compare_to(std::vector<std::int64_t> dims, const std::vector<double>& kernel,
                        const std::vector<double>& eager, const std::vector<double>& truth, double floor = 0,
                        const std::vector<double>& perturbed = {}, Rows rows = Rows::graded,
                        const std::vector<double>& nudged = {}) {
    Answer answer;
    answer.eager = host.make(DType::f32, dims, eager);
    answer.truth = host.make(DType::f64, dims, truth);
    if (!perturbed.empty()) answer.perturbed.push_back(host.make(DType::f64, dims, perturbed));
    if (!nudged.empty()) answer.nudged.push_back(host.make(DType::f64, dims, nudged));
    kernel_ = host.make(DType::f32, dims, kernel);
    return compare(yardstick().elements(kernel_), answer, yardstick(), floor, rows);
  }
  const Yardstick& yardstick() {
    if (!yardstick_) {
      GraphBuilder b;
      b.output(b.node("aten::exp", {ref("self", b.input(DType::f32, {1}))}, DType::f32, {1}));
      yardstick_ = std::make_unique<Yardstick>(b.graph, Precision::highest, Device{}, host);
    }
    return *yardstick_;
  }
  PlainHost host;
  Tensor kernel_;
  std::unique_ptr<Yardstick> yardstick_;
};

TEST_F(Contract, TwiceEagersErrorIsTheLimit) {
  EXPECT_EQ(compare_to({2}, {1 + 0x1p-10, 1}, {1 + 0x1p-10, 1}, {1, 1}).failure, "");
  EXPECT_EQ(compare_to({2}, {1 + 0x1p-9, 1}, {1 + 0x1p-10, 1}, {1, 1}).failure, "");
  EXPECT_NE(compare_to({2}, {1 + 0x1p-8, 1}, {1 + 0x1p-10, 1}, {1, 1}).failure, "");
  EXPECT_NE(compare_to({2}, {1 + 0x1p-20, 1}, {1, 1}, {1, 1}).failure, "");
  EXPECT_EQ(compare_to({2}, {1 + 0x1p-20, 1}, {1, 1}, {1, 1}, 0x1p-19).failure, "");
}

/// Two rows of 32: the first all `first`, the second all `second`.
std::vector<double> two_rows(double first, double second) {
  std::vector<double> values(64, first);
  std::fill(values.begin() + 32, values.end(), second);
  return values;
}

TEST_F(Contract, ASmallRowIsMeasuredByItsOwnSize) {
  const std::vector<double> truth = two_rows(1000, 1), kernel = two_rows(1000, 1.01);
  const Comparison found = compare_to({2, 32}, kernel, truth, truth, 1e-4);
  EXPECT_LT(found.kernel.rms, 1e-4);
  EXPECT_NE(found.failure.find("worst row"), std::string::npos) << found.failure;
}

TEST_F(Contract, NoRowMayBeMoreThanTwiceAsWrongAsEagers) {
  const std::vector<double> truth = two_rows(1000, 1), eager = two_rows(1000, 1.01);
  for (const Rows rows : {Rows::graded, Rows::alike}) {
    EXPECT_EQ(compare_to({2, 32}, two_rows(1000, 1.0199), eager, truth, 1e-6, {}, rows).failure, "");
  }
  EXPECT_NE(compare_to({2, 32}, two_rows(1000, 1.0201), eager, truth, 1e-6, {}, Rows::graded).failure, "");
}

TEST_F(Contract, EightElementsMakeARow) {
  std::vector<double> truth(16, 1000), kernel;
  std::fill(truth.begin() + 8, truth.end(), 1.0);
  kernel = truth;
  kernel.back() = 1.01;
  EXPECT_NE(compare_to({2, 8}, kernel, truth, truth, 1e-4).failure, "");
  EXPECT_EQ(compare_to({4, 4}, kernel, truth, truth, 1e-4).failure, "");
}

TEST_F(Contract, ARowThatCancelsAmongRowsDrawnAlikeIsMeasuredByThem) {
  const std::vector<double> truth = two_rows(100, 1e-3), kernel = two_rows(100, 1.01e-3);
  EXPECT_NE(compare_to({2, 32}, kernel, truth, truth, 1e-6, {}, Rows::graded).failure, "");
  EXPECT_EQ(compare_to({2, 32}, kernel, truth, truth, 1e-6, {}, Rows::alike).failure, "");
}

TEST_F(Contract, RowsTooShortForAStatisticAreTakenTogether) {
  EXPECT_EQ(compare_to({2, 2}, {1000, 1000, 1.01, 1}, {1000, 1000, 1, 1}, {1000, 1000, 1, 1}, 1e-4).failure, "");
}

TEST_F(Contract, ASumThatCancelsIsMeasuredByItsTerms) {
  // Truth 1e-6 left of terms near 1: an error of 1e-7 is an ulp of the terms.
  const std::vector<double> truth = {1e-6}, kernel = {1.1e-6}, eager = {1e-6};
  EXPECT_NE(compare_to({1}, kernel, eager, truth, 4 * 0x1p-23).failure, "");
  EXPECT_EQ(compare_to({1}, kernel, eager, truth, 4 * 0x1p-23, {1e-6 + perturbation}).failure, "");
}

TEST_F(Contract, ARowOfFlatZerosIsMeasuredByTheTermsBehindThem) {
  // relu of sums of terms near 1 that fall just below zero: rounding them may land above.
  const std::vector<double> truth = two_rows(1000, 0), kernel = two_rows(1000, 1e-7);
  const std::vector<double> nudged = two_rows(1000 * (1 + nudge), nudge), unmoved = two_rows(1000 * (1 + nudge), 0);
  const double floor = 4 * 0x1p-23;
  EXPECT_NE(compare_to({2, 32}, kernel, truth, truth, floor, truth).failure, "");
  EXPECT_EQ(compare_to({2, 32}, kernel, truth, truth, floor, truth, Rows::graded, nudged).failure, "");
  EXPECT_NE(compare_to({2, 32}, two_rows(1000, 1e-6), truth, truth, floor, truth, Rows::graded, nudged).failure, "");
  EXPECT_NE(compare_to({2, 32}, kernel, truth, truth, floor, truth, Rows::graded, unmoved).failure, "");
}

TEST_F(Contract, OneLargeElementMayCarryItsOwnUlps) {
  std::vector<double> truth(1000, 1.0), kernel = truth;
  truth[0] = kernel[0] = 1e4;
  kernel[0] = 1e4 * (1 + 0x1p-22);
  EXPECT_EQ(compare_to({1000}, kernel, truth, truth, 4 * 0x1p-23).failure, "");
}

TEST_F(Contract, NaNAndInfinityAreEagersOrTruths) {
  EXPECT_EQ(compare_to({2}, {nan, infinity}, {nan, infinity}, {nan, infinity}).failure, "");
  EXPECT_NE(compare_to({2}, {nan, 1}, {1, 1}, {1, 1}).failure, "");
  EXPECT_NE(compare_to({2}, {1, 1}, {nan, 1}, {nan, 1}).failure, "");
  EXPECT_NE(compare_to({1}, {-infinity}, {infinity}, {infinity}).failure, "");
  // Eager overflows, fp64 does not: the kernel may too.
  EXPECT_EQ(compare_to({1}, {infinity}, {infinity}, {1e30}).failure, "");
  EXPECT_EQ(compare_to({1}, {1e30}, {infinity}, {1e30}, 1e-6).failure, "");
  EXPECT_EQ(compare_to({1}, {nan}, {infinity}, {1e30}).failure, "");
  EXPECT_NE(compare_to({1}, {2e30}, {infinity}, {1e30}).failure, "");
  // Truth itself lies beyond the output's range.
  EXPECT_EQ(compare_to({1}, {infinity}, {3.4e38}, {1e39}).failure, "");
  EXPECT_NE(compare_to({1}, {-infinity}, {3.4e38}, {1e39}).failure, "");
}

TEST_F(Contract, Floors) {
  EXPECT_EQ(floor_error(DType::f32, Precision::highest, false), 4 * 0x1p-23);
  EXPECT_EQ(floor_error(DType::f16, Precision::highest, true), 0x1p-10);
  EXPECT_EQ(floor_error(DType::f32, Precision::high, false), 4 * 0x1p-23);
  EXPECT_EQ(floor_error(DType::f32, Precision::high, true), 0x1p-11);
  EXPECT_EQ(floor_error(DType::f32, Precision::medium, false), 0x1p-7);
}

TEST_F(Contract, OtherDimsAreABugOfOurs) {
  Answer answer;
  answer.eager = host.make(DType::f32, {2}, {1, 1});
  answer.truth = host.make(DType::f64, {2}, {1, 1});
  const Tensor kernel = host.make(DType::f32, {1, 2}, {1, 1});
  EXPECT_THROW(compare(yardstick().elements(kernel), answer, yardstick(), 0, Rows::alike), InternalError);
}

TEST_F(Contract, EmptyOutputsAreRight) { EXPECT_EQ(compare_to({0, 3}, {}, {}, {}).failure, ""); }

}  // namespace
}  // namespace cudaagent::verify
