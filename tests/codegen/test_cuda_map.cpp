#include "cuda_bodies.h"
#include "cuda_harness.h"

namespace cudaagent::testing {
namespace {

using codegen::Candidate;

const std::vector<DType> every_dtype = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,
                                        DType::i16, DType::i32, DType::i64, DType::u8,   DType::b8};

TEST(CudaMap, CarriesEveryFunctionInEveryDtype) {
  std::vector<CudaCase> cases;
  for (const DType dtype : every_dtype) {
    BodyBuilder b({{45, false}});
    const auto x = b.load(dtype, {1}), y = b.load(dtype, {1}), z = b.load(dtype, {1});
    // A divisor of zero is undefined in integers, and shifts and powers take small counts.
    const auto one = b.constant(Arg{std::int64_t{1}}, dtype);
    const auto divisor = is_integral(dtype) ? b.map("or", dtype, {y, one}) : y;
    std::vector<std::int32_t> stored;
    for (const ir::MapFn& fn : ir::map_fns()) {
      const bool defined = is_float(dtype) ? fn.floats : dtype == DType::b8 ? fn.bools : fn.ints;
      if (!defined || fn.name == "where") continue;
      const std::vector<std::int32_t> operands{x, divisor, z};
      const DType result = fn.predicate ? DType::b8 : dtype;
      stored.push_back(b.map(std::string(fn.name), result, {operands.begin(), operands.begin() + fn.arity}));
    }
    stored.push_back(b.map("where", dtype, {b.map("ge", DType::b8, {x, y}), x, z}));
    for (std::size_t k = 0; k < stored.size(); k += 8) {
      BodyBuilder part = b;
      for (std::size_t j = k; j < std::min(k + 8, stored.size()); ++j) part.store(stored[j], {1});
      cases.push_back({dtype_name(dtype) + std::string(" functions from ") + part.body.insts[stored[k]].fn,
                       part.body,
                       {"map", {}},
                       tolerance_of(dtype),
                       4e-7});
    }
  }
  check_cases(cases);
}

TEST(CudaMap, HandlesEveryTail) {
  std::vector<CudaCase> cases;
  for (const int count : {1, 3, 255, 1024, 1025, 4099}) {
    BodyBuilder b({{count, false}});
    b.store(b.map("add", DType::f32, {b.load(DType::f32, {1}), b.load(DType::f32, {1})}), {1});
    for (const std::int64_t unroll : {1, 2})
      for (const std::int64_t vector : {1, count > 1 ? 4 : 1})
        cases.push_back(
            {std::to_string(count), b.body, {"map", {{"vector", vector}, {"unroll", unroll}, {"threads", 64}}}});
  }
  check_cases(cases);
}

TEST(CudaMap, MovesEveryDtypeInVectors) {
  std::vector<CudaCase> cases;
  for (const DType dtype : every_dtype) {
    BodyBuilder b({{5000, false}});
    const auto x = b.load(dtype, {1});
    for (const DType to : {dtype, DType::f32, DType::u8, DType::f64}) b.store(b.map("convert", to, {x}), {1});
    cases.push_back(chosen(dtype_name(dtype), b.body));
  }
  check_cases(cases);
}

TEST(CudaMap, BroadcastsTransposesAndFlips) {
  std::vector<CudaCase> cases;
  {
    BodyBuilder b({{13, false}, {36, false}});
    const auto x = b.load(DType::f32, {36, 1}), row = b.load(DType::f32, {1, 0}), column = b.load(DType::f32, {0, 1});
    b.store(b.map("fma", DType::f32, {b.map("mul", DType::f32, {x, row}), b.load(DType::f32, {0, 0}), column}),
            {36, 1});
    cases.push_back(chosen("broadcast", b.body, 1e-6, 1e-6));
  }
  {
    BodyBuilder b({{70, false}, {150, false}});
    const auto x = b.load(DType::f32, {150, 1}), t = b.load(DType::f32, {1, 70}),
               f = b.load(DType::f32, {150, -1}, 149);
    b.store(b.map("sub", DType::f32, {b.map("add", DType::f32, {x, t}), f}), {150, 1});
    cases.push_back(chosen("transposed and flipped", b.body));
    cases.push_back({"in vectors", b.body, {"map", {{"vector", 2}, {"threads", 64}}}});
  }
  {
    BodyBuilder b({{5, false}, {40, false}});
    b.store(b.map("neg", DType::f16, {b.load(DType::f16, {40, 1})}), {80, 2});
    b.store(b.index({-3, 2}, 5), {40, 1});
    cases.push_back(chosen("strided output and indices", b.body));
  }
  cases.push_back(chosen("channels", scale_relu(2, 5, 64, DType::f32), 1e-6, 1e-6));
  cases.push_back(chosen("odd channels", scale_relu(2, 5, 49, DType::bf16), 1e-2, 1e-2));
  check_cases(cases);
}

TEST(CudaMap, TransposesThroughSharedMemory) {
  std::vector<CudaCase> cases;
  for (const DType dtype : {DType::f32, DType::bf16, DType::u8, DType::f64})
    for (const std::int64_t rows : {64, 70, 77}) {
      // [2, rows, 96] to [2, 96, rows], with an operand that already lies as the output does.
      BodyBuilder b({{2, false}, {96, false}, {rows, false}});
      const auto x = b.load(dtype, {96 * rows, 1, 96}), y = b.load(dtype, {96 * rows, rows, 1});
      b.store(b.map("max", dtype, {x, y}), {96 * rows, rows, 1});
      CudaCase one = chosen(std::string(dtype_name(dtype)) + " rows " + std::to_string(rows), b.body);
      EXPECT_EQ(one.candidate.template_name, "map_tiled");
      cases.push_back(one);
      one.candidate.params["tile"] = 32;
      cases.push_back(one);
    }
  // NCHW to NHWC of two inputs with a bias along the channels, and a stride along the inner axis.
  BodyBuilder b({{2, false}, {49, false}, {24, false}});
  const auto x = b.load(DType::f32, {24 * 49, 1, 49}), y = b.load(DType::f32, {24 * 98, 1, 98}, 1);
  b.store(b.map("fma", DType::f32, {x, b.load(DType::f32, {0, 0, 1}), y}), {24 * 49, 24, 1});
  cases.push_back(chosen("channels last", b.body, 1e-6, 1e-6));
  check_cases(cases);
}

TEST(CudaMap, HandlesOneElementAndPersistentGrids) {
  BodyBuilder one({});
  one.store(one.map("abs", DType::f32, {one.load(DType::f32, {})}), {});
  check_cases({chosen("no element", gelu(0, DType::f32)),
               chosen("one element", one.body),
               {"persistent",
                gelu(300000, DType::bf16),
                {"map", {{"waves", 1}, {"threads", 1024}, {"vector", 1}, {"unroll", 1}}},
                1e-2,
                1e-4}});
}

TEST(CudaMap, AddressesPastTwoToThe31) {
  BodyBuilder b({{3, false}, {std::int64_t{1} << 30, false}});
  b.store(b.map("add", DType::u8, {b.load(DType::u8, {std::int64_t{1} << 30, 1}), b.load(DType::u8, {0, 1})}),
          {std::int64_t{1} << 30, 1});
  auto source = codegen::generate(b.body, codegen::choose(b.body, cuda_target()), cuda_target(), "k");
  ASSERT_TRUE(source.ok());
  EXPECT_NE(source.value().text.find("int64_t i = first"), std::string::npos) << source.value().text;
}

TEST(CudaMap, RefusesParametersThatDoNotFit) {
  const schedule::Body body = gelu(4096, DType::f32);
  for (const Candidate& bad : {Candidate{"map", {{"vector", 8}}}, Candidate{"map", {{"threads", 100}}},
                               Candidate{"map", {{"unroll", 0}}}, Candidate{"map", {{"speed", 2}}}})
    EXPECT_FALSE(codegen::generate(body, bad, cuda_target(), "k").ok());
}

}  // namespace
}  // namespace cudaagent::testing
