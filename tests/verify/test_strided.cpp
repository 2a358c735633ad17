#include <gtest/gtest.h>

#include <numeric>

#include "support/plain_host.h"
#include "verify/strided.h"

namespace cudaagent::verify {
namespace {

using cudaagent::testing::PlainHost;

TEST(Strided, ReadsAndWritesInLogicalOrder) {
  PlainHost host;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i16}) {
    const TensorType type{dtype, {3, 4, 5}, {1, 15, 3}, {}};
    const Tensor tensor = host.empty(type);
    const Elements elements{static_cast<std::byte*>(host.data(tensor)), type};
    std::vector<double> values(60), back(60);
    std::iota(values.begin(), values.end(), -20.0);
    // In blocks that end inside rows.
    for (std::int64_t begin = 0; begin < 60; begin += 7) {
      write_elements(elements, begin, std::min<std::int64_t>(7, 60 - begin), values.data() + begin);
    }
    EXPECT_EQ(host.values(tensor), values) << dtype_name(dtype);
    for (std::int64_t begin = 0; begin < 60; begin += 11) {
      read_elements(elements, begin, std::min<std::int64_t>(11, 60 - begin), back.data() + begin);
    }
    EXPECT_EQ(back, values) << dtype_name(dtype);
  }
}

TEST(Strided, IntegersKeepAllBits) {
  PlainHost host;
  const Tensor tensor = host.empty({DType::i64, {2}, {1}, {}});
  auto* data = static_cast<std::int64_t*>(host.data(tensor));
  data[0] = (std::int64_t{1} << 60) + 1;
  data[1] = -1;
  std::int64_t out[2];
  read_integers({static_cast<std::byte*>(host.data(tensor)), host.type(tensor)}, 0, 2, out);
  EXPECT_EQ(out[0], data[0]);
  EXPECT_EQ(out[1], -1);
}

TEST(Strided, ScalarsAndEmptyTensors) {
  double value = 7, out = 0;
  const Elements scalar{reinterpret_cast<std::byte*>(&value), {DType::f64, {}, {}, {}}};
  read_elements(scalar, 0, 1, &out);
  EXPECT_EQ(out, 7);
  EXPECT_EQ(row_length(scalar.type), 1);
  read_elements({nullptr, {DType::f64, {0, 3}, {1, 7}, {}}}, 0, 0, &out);
}

}  // namespace
}  // namespace cudaagent::verify
