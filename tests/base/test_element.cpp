#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/element.h"

namespace cudaagent {
namespace {

std::uint16_t stored16(DType dtype, double value) {
  std::uint16_t bits = 0;
  store_element(&bits, dtype, value);
  return bits;
}

// Every 16-bit pattern survives a load and a store, NaN payloads apart.
TEST(Element, EveryHalfPatternRoundTrips) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (int i = 0; i < 65536; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      const double value = load_element(&bits, dtype);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(load_element(&bits, dtype)));
      } else {
        ASSERT_EQ(stored16(dtype, value), bits) << dtype_name(dtype) << " " << i;
      }
    }
  }
}

TEST(Element, HalfValues) {
  const auto value = [](std::uint16_t bits) { return load_element(&bits, DType::f16); };
  EXPECT_EQ(value(0x3c00), 1);
  EXPECT_EQ(value(0xc000), -2);
  EXPECT_EQ(value(0x7bff), 65504);
  EXPECT_EQ(value(0x0001), 0x1p-24);
  EXPECT_EQ(value(0x8400), -0x1p-14);
  EXPECT_EQ(value(0x7c00), std::numeric_limits<double>::infinity());
}

TEST(Element, BFloatIsTheTopOfAFloat) {
  const float value = -3.1415f;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  const auto top = static_cast<std::uint16_t>(bits >> 16);
  bits &= 0xffff0000u;
  float expected = 0;
  std::memcpy(&expected, &bits, 4);
  EXPECT_EQ(load_element(&top, DType::bf16), expected);
}

TEST(Element, RoundsToNearestEven) {
  EXPECT_EQ(stored16(DType::f16, 1 + 0x1p-11), 0x3c00);
  EXPECT_EQ(stored16(DType::f16, 1 + 3 * 0x1p-11), 0x3c02);
  EXPECT_EQ(stored16(DType::f16, 1 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(stored16(DType::f16, 65519.99), 0x7bff);
  EXPECT_EQ(stored16(DType::f16, 65520), 0x7c00);
  EXPECT_EQ(stored16(DType::f16, 0x1p-25), 0);
  EXPECT_EQ(stored16(DType::f16, 0x1p-24), 1);
  EXPECT_EQ(stored16(DType::f16, -0.0), 0x8000);
  EXPECT_EQ(stored16(DType::f16, 0x1p-14 - 0x1p-26), 0x0400);
  EXPECT_EQ(stored16(DType::bf16, std::numeric_limits<double>::max()), 0x7f80);
  EXPECT_EQ(stored16(DType::bf16, -std::numeric_limits<double>::infinity()), 0xff80);
  EXPECT_EQ(stored16(DType::f16, largest_finite(DType::f16)), 0x7bff);
  EXPECT_EQ(stored16(DType::bf16, largest_finite(DType::bf16)), 0x7f7f);
}

TEST(Element, Integers) {
  std::int64_t big = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(load_integer(&big, DType::i64), big);
  std::int8_t small = 0;
  store_element(&small, DType::i8, -7.9);
  EXPECT_EQ(small, -7);
  std::uint8_t flag = 0;
  store_element(&flag, DType::b8, 0.25);
  EXPECT_EQ(flag, 1);
}

}  // namespace
}  // namespace cudaagent
