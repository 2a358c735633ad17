#include "host_harness.h"

namespace cudaagent::testing {
namespace {

using schedule::Body;

void check(const Body& body, double tolerance = 0, double floor = 0) {
  HostKernel kernel(body);
  Memory memory(body);
  fill_random(body, memory, 7);
  expect_matches(body, kernel, memory, tolerance, floor);
}

TEST(HostMap, AddsRowsOfEveryLengthAndTail) {
  for (const std::int64_t n : {1, 2, 3, 7, 15, 16, 17, 31, 33, 100, 8192, 8193, 20001}) {
    BodyBuilder b({{n, false}});
    const auto x = b.load(DType::f32, {1}), y = b.load(DType::f32, {1});
    b.store(b.map("add", DType::f32, {x, y}), {1});
    SCOPED_TRACE(n);
    check(b.body);
  }
}

TEST(HostMap, BroadcastsAlongEitherAxis) {
  BodyBuilder b({{13, false}, {37, false}});
  const auto x = b.load(DType::f32, {37, 1}), row = b.load(DType::f32, {1, 0}), column = b.load(DType::f32, {0, 1});
  const auto scalar = b.load(DType::f32, {0, 0});
  b.store(b.map("fma", DType::f32, {b.map("mul", DType::f32, {x, row}), scalar, column}), {37, 1});
  check(b.body, 1e-6);
}

TEST(HostMap, ReadsTransposedAndFlippedInputs) {
  BodyBuilder b({{70, false}, {150, false}});
  const auto x = b.load(DType::f32, {150, 1}), t = b.load(DType::f32, {1, 70}),
             flipped = b.load(DType::f32, {150, -1}, 149);
  b.store(b.map("sub", DType::f32, {b.map("add", DType::f32, {x, t}), flipped}), {150, 1});
  check(b.body);
}

TEST(HostMap, WritesStridedOutputs) {
  BodyBuilder b({{5, false}, {40, false}});
  const auto x = b.load(DType::f32, {40, 1});
  b.store(b.map("neg", DType::f32, {x}), {80, 2});
  HostKernel kernel(b.body);
  Memory memory(b.body);
  fill_random(b.body, memory, 3);
  expect_matches(b.body, kernel, memory, 0, 0);
}

TEST(HostMap, HandlesEmptyAndScalarSpaces) {
  for (const std::int64_t n : {0, 1}) {
    BodyBuilder b({{n, false}, {5 * n, false}});
    const auto x = b.load(DType::f64, {5, 1});
    b.store(b.map("exp", DType::f64, {x}), {5, 1});
    for (auto& buffer : b.body.buffers) buffer.span = std::max<std::int64_t>(5 * n, 0);
    check(b.body, 1e-15);
  }
  BodyBuilder none({});
  none.store(none.map("abs", DType::f32, {none.load(DType::f32, {})}), {});
  check(none.body);
}

TEST(HostMap, CountsIndicesInBothDirections) {
  BodyBuilder b({{9, false}, {33, false}});
  const auto i = b.index({-3, 2}, 5);
  b.store(i, {33, 1});
  b.store(b.map("convert", DType::f32, {i}), {33, 1});
  check(b.body);
}

TEST(HostMap, ConvertsBetweenAllTypes) {
  const std::vector<DType> all = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,
                                  DType::i16, DType::i32, DType::i64, DType::u8,   DType::b8};
  for (const DType from : all) {
    BodyBuilder b({{77, false}});
    const auto x = b.load(from, {1});
    for (const DType to : all) b.store(b.map("convert", to, {x}), {1});
    SCOPED_TRACE(dtype_name(from));
    HostKernel kernel(b.body);
    Memory memory(b.body);
    for (std::int64_t k = 0; k < 77; ++k) {
      // Floats stay where every integer type takes them; a negative float to u8 wraps on the way through i64.
      const double value = (k - 38) * 1.37;
      memory.set(0, k, round_to({value, static_cast<std::int64_t>(value * 1001)}, from));
    }
    expect_matches(b.body, kernel, memory, 0, 0);
  }
}

TEST(HostMap, SmallFloatsRoundToEvenAndKeepNanAndInfinity) {
  for (const DType small : {DType::f16, DType::bf16}) {
    BodyBuilder b({{64, false}});
    b.store(b.map("convert", small, {b.load(DType::f32, {1})}), {1});
    HostKernel kernel(b.body);
    Memory memory(b.body);
    const double one = ulp(small);
    for (std::int64_t k = 0; k < 60; ++k) memory.set(0, k, {1 + one * (k - 20) / 4.0, 0});
    memory.set(0, 60, {NAN, 0});
    memory.set(0, 61, {-INFINITY, 0});
    memory.set(0, 62, {3.4e38L, 0});
    memory.set(0, 63, {6e-8L, 0});
    expect_matches(b.body, kernel, memory, 0, 0);
  }
}

TEST(HostMap, ConstantsAreExact) {
  BodyBuilder b({{20, false}});
  const auto i = b.index({1});
  const auto none = b.map("ne", DType::b8, {i, i});
  const auto put = [&](Arg value, DType dtype) {
    const auto c = b.constant(std::move(value), dtype);
    b.store(b.map("where", dtype, {none, b.constant({std::int64_t{0}}, dtype), c}), {1});
  };
  for (const double value : {0.1, -0.0, 1e300, 5e-324, 1e-40, 65504.0, 65520.0, 6e-8, 2.5, 1.00048828125})
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) put({value}, dtype);
  for (const double value : {HUGE_VAL, -HUGE_VAL, std::nan("")}) put({value}, DType::f32), put({value}, DType::f16);
  for (const std::int64_t value :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), std::int64_t{-1}})
    for (const DType dtype : {DType::i64, DType::i32, DType::i8, DType::u8}) put({value}, dtype);
  put({true}, DType::b8);
  check(b.body);
}

/// Pointwise graphs drawn at random: types, strides, broadcasts, depths.
TEST(HostMap, RandomGraphsAgreeWithTheOracle) {
  for (unsigned seed = 0; seed < 25; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
    std::vector<schedule::Axis> axes;
    for (int a = 0, rank = 1 + draw(4); a < rank; ++a) axes.push_back({1 + draw(a == rank - 1 ? 70 : 7), false});
    BodyBuilder b(axes);
    std::vector<std::int64_t> dense(axes.size());
    for (std::size_t a = axes.size(), step = 1; a-- > 0; step *= static_cast<std::size_t>(axes[a].extent))
      dense[a] = static_cast<std::int64_t>(step);
    const DType dtype = std::vector<DType>{
        DType::f32, DType::f64, DType::i32, DType::i16, DType::u8, DType::i64}[static_cast<std::size_t>(draw(6))];
    std::vector<std::int32_t> values;
    for (int k = 0; k < 3; ++k) {
      std::vector<std::int64_t> strides = dense;
      for (auto& stride : strides) stride = draw(4) == 0 ? 0 : draw(6) == 0 ? stride * 2 : stride;
      values.push_back(b.load(dtype, strides, draw(3)));
    }
    const char* fns[] = {"add", "sub", "mul", "max", "min", "fmax"};
    for (int k = 0; k < 8; ++k) {
      const auto x = values[static_cast<std::size_t>(draw(static_cast<int>(values.size())))];
      const auto y = values[static_cast<std::size_t>(draw(static_cast<int>(values.size())))];
      const auto condition = b.map("lt", DType::b8, {x, y});
      values.push_back(draw(3) == 0 ? b.map("where", dtype, {condition, y, x}) : b.map(fns[draw(6)], dtype, {x, y}));
    }
    b.store(values.back(), dense);
    b.store(values[values.size() - 3], dense);
    SCOPED_TRACE(seed);
    check(b.body);
  }
}

}  // namespace
}  // namespace cudaagent::testing
