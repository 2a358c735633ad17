#include <gtest/gtest.h>

#include <limits>

#include "rewrite/promote.h"

namespace cudaagent::rewrite {
namespace {

TensorType tensor(DType dtype, std::vector<std::int64_t> dims) { return {dtype, dims, contiguous_strides(dims), {}}; }

DType result(std::initializer_list<TensorType> tensors, std::initializer_list<Arg> numbers = {}) {
  Promotion promotion;
  for (const TensorType& type : tensors) promotion.add_tensor(type);
  for (const Arg& number : numbers) promotion.add_number(number);
  return promotion.result();
}

TEST(PromoteTypes, FollowsTheLattice) {
  EXPECT_EQ(promote_types(DType::f16, DType::bf16), DType::f32);
  EXPECT_EQ(promote_types(DType::f16, DType::i64), DType::f16);
  EXPECT_EQ(promote_types(DType::f32, DType::f64), DType::f64);
  EXPECT_EQ(promote_types(DType::u8, DType::i8), DType::i16);
  EXPECT_EQ(promote_types(DType::i32, DType::u8), DType::i32);
  EXPECT_EQ(promote_types(DType::b8, DType::u8), DType::u8);
}

TEST(Promotion, ANumberDoesNotWidenATensor) {
  EXPECT_EQ(result({tensor(DType::f16, {3})}, {Arg{2.5}}), DType::f16);
  EXPECT_EQ(result({tensor(DType::u8, {3})}, {Arg{std::int64_t{300}}}), DType::u8);
}

TEST(Promotion, ANumberOfAHigherCategoryDecides) {
  EXPECT_EQ(result({tensor(DType::i64, {3})}, {Arg{0.5}}), DType::f32);
  EXPECT_EQ(result({tensor(DType::b8, {3})}, {Arg{std::int64_t{1}}}), DType::i64);
  EXPECT_EQ(result({tensor(DType::b8, {3})}, {Arg{true}}), DType::b8);
}

TEST(Promotion, AZeroDimTensorRanksBetweenTensorsAndNumbers) {
  EXPECT_EQ(result({tensor(DType::f16, {3}), tensor(DType::f64, {})}), DType::f16);
  EXPECT_EQ(result({tensor(DType::i64, {3}), tensor(DType::f64, {})}), DType::f64);
  EXPECT_EQ(result({tensor(DType::i32, {})}, {Arg{0.5}}), DType::f32);
  EXPECT_EQ(result({tensor(DType::f64, {})}, {Arg{0.5}}), DType::f64);
}

TEST(ConstantOf, TakesTheKindOfTheDtype) {
  EXPECT_EQ(constant_of(Arg{std::int64_t{2}}, DType::bf16), Arg{2.0});
  EXPECT_EQ(constant_of(Arg{2.7}, DType::i32), Arg{std::int64_t{2}});
  EXPECT_EQ(constant_of(Arg{2.5}, DType::b8), Arg{true});
  EXPECT_EQ(constant_of(Arg{true}, DType::i64), Arg{std::int64_t{1}});
}

TEST(Fits, RefusesWhatAnIntegerCannotHold) {
  EXPECT_FALSE(fits(Arg{std::numeric_limits<double>::infinity()}, DType::i64));
  EXPECT_FALSE(fits(Arg{std::numeric_limits<double>::quiet_NaN()}, DType::i64));
  EXPECT_TRUE(fits(Arg{std::numeric_limits<double>::infinity()}, DType::f16));
  EXPECT_TRUE(fits(Arg{3.5}, DType::i64));
}

}  // namespace
}  // namespace cudaagent::rewrite
