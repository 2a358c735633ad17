#include "cuda_bodies.h"
#include "host_harness.h"

namespace cudaagent::testing {
namespace {

using codegen::Candidate;
using ir::ReduceKind;
using schedule::Body;

constexpr ReduceKind every_kind[] = {ReduceKind::sum,    ReduceKind::prod,   ReduceKind::max, ReduceKind::min,
                                     ReduceKind::argmax, ReduceKind::argmin, ReduceKind::any, ReduceKind::all};
const std::vector<DType> every_dtype = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,
                                        DType::i16, DType::i32, DType::i64, DType::u8,   DType::b8};

double tolerance_of(DType dtype) { return dtype == DType::f64 ? 1e-13 : dtype == DType::f32 ? 2e-6 : 1.1 * ulp(dtype); }

/// Every candidate of the body against the oracle.
void check_all(const Body& body, double tolerance, double floor, unsigned seed = 11) {
  for (const Candidate& candidate : codegen::candidates(body, host_target(), 4)) {
    SCOPED_TRACE(candidate.template_name);
    HostKernel kernel(body, candidate);
    Memory memory(body);
    fill_random(body, memory, seed);
    expect_matches(body, kernel, memory, tolerance, floor);
  }
}

/// The reductions a dtype has that values of any size can take, in one body.
Body all_reductions(DType dtype, std::vector<schedule::Axis> axes, const std::vector<std::int64_t>& in,
                    const std::vector<std::int64_t>& out) {
  BodyBuilder b(std::move(axes));
  const auto x = b.load(dtype, in);
  for (const ReduceKind kind : every_kind) {
    const bool arithmetic = kind == ReduceKind::sum || kind == ReduceKind::prod;
    if (dtype == DType::b8 && arithmetic) continue;
    if (kind == ReduceKind::prod && is_float(dtype)) continue;
    b.store(b.reduce(kind, x), out);
  }
  return b.body;
}

TEST(HostReduce, RowsOfEveryLengthTypeAndKind) {
  for (const DType dtype : every_dtype) {
    for (const std::int64_t n : {1, 7, 16, 1000}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + std::to_string(n));
      check_all(all_reductions(dtype, {{5, false}, {n, true}}, {n, 1}, {1, 0}), tolerance_of(dtype),
                1e-5 * static_cast<double>(n));
    }
  }
}

TEST(HostReduce, ColumnsOfEveryTypeAndKind) {
  for (const DType dtype : every_dtype) {
    for (const auto& [n, columns] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{3, 40}, {1000, 17}, {21, 600}}) {
      SCOPED_TRACE(std::string(dtype_name(dtype)) + " " + std::to_string(n) + "x" + std::to_string(columns));
      check_all(all_reductions(dtype, {{columns, false}, {n, true}}, {1, columns}, {1, 0}), tolerance_of(dtype),
                1e-5 * static_cast<double>(n));
    }
  }
}

TEST(HostReduce, LongRowsAreShared) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64}) {
    for (const std::int64_t n : {65537, 300001}) {
      SCOPED_TRACE(n);
      const Body body = all_reductions(dtype, {{n, true}}, {1}, {0});
      EXPECT_EQ(codegen::choose(body, host_target()).template_name, "reduce_split");
      check_all(body, tolerance_of(dtype), 2e-3);
    }
  }
}

TEST(HostReduce, LongColumnsAreShared) {
  const Body body = all_reductions(DType::f32, {{33, false}, {9001, true}}, {1, 33}, {1, 0});
  EXPECT_EQ(codegen::choose(body, host_target()).template_name, "reduce_split");
  check_all(body, 2e-6, 1e-4);
}

TEST(HostReduce, SeveralReducedAxesAroundAKeptOne) {
  BodyBuilder b({{6, false}, {4, true}, {49, true}});
  const auto x = b.load(DType::f32, {49, 6 * 49, 1});
  b.store(b.reduce(ReduceKind::sum, x), {1, 0, 0});
  b.store(b.reduce(ReduceKind::argmax, x), {1, 0, 0});
  check_all(b.body, 2e-6, 1e-5);
}

TEST(HostReduce, RowsReadAcrossMemory) {
  BodyBuilder b({{7, false}, {50, true}});
  const auto x = b.load(DType::f32, {100, 2}), y = b.load(DType::f32, {1, 7});
  b.store(b.reduce(ReduceKind::sum, b.map("mul", DType::f32, {x, y})), {1, 0});
  check_all(b.body, 2e-6, 1e-5);
}

TEST(HostReduce, ReducesWhatDoesNotVaryAlongTheRow) {
  BodyBuilder b({{9, false}, {40, true}});
  b.store(b.reduce(ReduceKind::sum, b.load(DType::f32, {1, 0})), {1, 0});
  check_all(b.body, 1e-6, 0);
}

TEST(HostReduce, EmptySpaces) {
  BodyBuilder rows({{0, false}, {4, true}});
  rows.store(rows.reduce(ReduceKind::sum, rows.load(DType::f32, {4, 1})), {1, 0});
  rows.body.buffers[0].span = rows.body.buffers[1].span = 0;
  check_all(rows.body, 0, 0);
  BodyBuilder b({{4, false}, {0, true}});
  b.store(b.reduce(ReduceKind::sum, b.load(DType::f32, {0, 1})), {1, 0});
  b.store(b.reduce(ReduceKind::all, b.load(DType::f32, {0, 1})), {1, 0});
  b.body.buffers[0].span = b.body.buffers[2].span = 0;
  for (const Candidate& candidate : codegen::candidates(b.body, host_target(), 4)) {
    HostKernel kernel(b.body, candidate);
    Memory memory(b.body);
    kernel.run(memory.pointers());
    for (std::int64_t k = 0; k < 4; ++k) {
      EXPECT_EQ(memory.get(1, k).f, 0);
      EXPECT_EQ(memory.get(3, k).i, 1);
    }
  }
}

/// x - max, exp, / sum: three stages.
void softmax(BodyBuilder& b, DType dtype, const std::vector<std::int64_t>& strides) {
  const auto x = b.map("convert", DType::f32, {b.load(dtype, strides)});
  const auto e = b.map("exp", DType::f32, {b.map("sub", DType::f32, {x, b.reduce(ReduceKind::max, x)})});
  const auto y = b.map("div", DType::f32, {e, b.reduce(ReduceKind::sum, e)});
  b.store(b.map("convert", dtype, {y}), strides);
}

TEST(HostReduce, SoftmaxAlongAnyAxis) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    SCOPED_TRACE(dtype_name(dtype));
    BodyBuilder last({{11, false}, {333, true}});
    softmax(last, dtype, {333, 1});
    check_all(last.body, tolerance_of(dtype), 1e-9);
    BodyBuilder middle({{3, false}, {77, false}, {21, true}});
    softmax(middle, dtype, {21 * 77, 1, 77});
    check_all(middle.body, tolerance_of(dtype), 1e-9);
  }
  BodyBuilder one({{100003, true}});
  softmax(one, DType::f32, {1});
  check_all(one.body, 3e-6, 0);
}

TEST(HostReduce, LayerNormWithWeightsAndTwoOutputs) {
  for (const std::int64_t n : {5, 768, 70000}) {
    BodyBuilder b({{3, false}, {n, true}});
    const auto x = b.load(DType::f32, {n, 1}), w = b.load(DType::f32, {0, 1}), bias = b.load(DType::f32, {0, 1});
    const auto scale = b.constant({1.0 / static_cast<double>(n)}, DType::f32);
    const auto mean = b.map("mul", DType::f32, {b.reduce(ReduceKind::sum, x), scale});
    const auto d = b.map("sub", DType::f32, {x, mean});
    const auto var = b.map("mul", DType::f32, {b.reduce(ReduceKind::sum, b.map("mul", DType::f32, {d, d})), scale});
    const auto rstd = b.map("rsqrt", DType::f32, {b.map("add", DType::f32, {var, b.constant({1e-5}, DType::f32)})});
    const auto y = b.map("fma", DType::f32, {b.map("mul", DType::f32, {d, rstd}), w, bias});
    b.store(y, {n, 1});
    b.store(rstd, {1, 0});
    b.store(mean, {1, 0});
    SCOPED_TRACE(n);
    check_all(b.body, 1e-5, 3e-6);
  }
}

TEST(HostReduce, ColumnStatisticsWithARowValueLoad) {
  BodyBuilder b({{2, false}, {50, false}, {300, true}});
  const auto x = b.load(DType::f32, {300 * 50, 1, 50}), shift = b.load(DType::f32, {0, 1, 0}),
             batch = b.load(DType::f32, {1, 0, 0});
  const auto sum = b.reduce(ReduceKind::sum, b.map("mul", DType::f32, {b.map("sub", DType::f32, {x, shift}), batch}));
  b.store(b.map("add", DType::f32, {sum, shift}), {50, 1, 0});
  b.store(b.map("sub", DType::f32, {x, sum}), {300 * 50, 1, 50});
  check_all(b.body, 1e-5, 1e-4);
}

TEST(HostReduce, FirstIndexAndNanOfArgmaxAndMax) {
  for (const std::int64_t n : {3, 40, 70001}) {
    BodyBuilder b({{4, false}, {n, true}});
    const auto x = b.load(DType::f32, {n, 1});
    for (const ReduceKind kind : {ReduceKind::max, ReduceKind::min, ReduceKind::argmax, ReduceKind::argmin})
      b.store(b.reduce(kind, x), {1, 0});
    for (const Candidate& candidate : codegen::candidates(b.body, host_target(4), 4)) {
      HostKernel kernel(b.body, candidate);
      Memory memory(b.body);
      for (std::int64_t k = 0; k < n; ++k) {
        memory.set(0, k, {static_cast<long double>(k % 2), 0});               // ties
        memory.set(0, n + k, {k >= n / 2 ? NAN : static_cast<float>(k), 0});  // NaNs
        memory.set(0, 2 * n + k, {-HUGE_VALF, 0});                            // nothing beats the identity
        memory.set(0, 3 * n + k, {HUGE_VALF, 0});
      }
      SCOPED_TRACE(candidate.template_name);
      expect_matches(b.body, kernel, memory, 0, 0);
    }
  }
}

TEST(HostReduce, LongSumsAreAccurate) {
  const std::int64_t n = 4000000;
  BodyBuilder b({{n, true}});
  b.store(b.reduce(ReduceKind::sum, b.load(DType::f32, {1})), {0});
  for (const Candidate& candidate : codegen::candidates(b.body, host_target(), 3)) {
    HostKernel kernel(b.body, candidate);
    Memory memory(b.body);
    std::mt19937 random(5);
    for (std::int64_t k = 0; k < n; ++k)
      memory.set(0, k, {std::uniform_real_distribution<float>(0.5f, 1.5f)(random), 0});
    expect_matches(b.body, kernel, memory, 1e-7, 0);
  }
}

/// Squared distances of small integers from a mean: few distinct values, each of which rounds the same way whenever it
/// is added to a sum of the same size.
TEST(HostReduce, RoundingsThatAgreeDoNotAddUp) {
  struct Layout {
    std::int64_t sums, terms, step, next;  ///< `step` from one sum to the next, `next` from term to term
  };
  for (const auto& [sums, terms, step, next] :
       std::vector<Layout>{{64, 8192, 8192, 1}, {64, 4096, 1, 64}, {1, 1 << 20, 1 << 20, 1}}) {
    BodyBuilder b({{sums, false}, {terms, true}});
    b.store(b.reduce(ReduceKind::sum, b.load(DType::f32, {step, next})), {1, 0});
    Memory memory(b.body);
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 2.5f);
    for (std::int64_t s = 0; s < sums; ++s) {
      const float mean = static_cast<float>(s + 1) / 2048;
      for (std::int64_t t = 0; t < terms; ++t) {
        const float off = std::nearbyint(normal(random)) - mean;
        memory.set(0, s * step + t * next, {off * off, 0});
      }
    }
    for (const Candidate& candidate : codegen::candidates(b.body, host_target(), 4)) {
      SCOPED_TRACE(candidate.template_name + " " + std::to_string(terms));
      HostKernel kernel(b.body, candidate);
      expect_matches(b.body, kernel, memory, 3e-7, 0);
    }
  }
}

TEST(HostReduce, LongSumsKeepInfinitiesAndOverflow) {
  constexpr std::int64_t terms = 40000;
  for (const DType dtype : {DType::f32, DType::f64}) {
    BodyBuilder b({{4, false}, {terms, true}});
    b.store(b.reduce(ReduceKind::sum, b.load(dtype, {terms, 1})), {1, 0});
    Memory memory(b.body);
    for (std::int64_t t = 0; t < terms; ++t) {
      memory.set(0, t, {t == 77 ? HUGE_VALL : 1, 0});
      memory.set(0, terms + t, {t == 30000 ? -HUGE_VALL : t == 3 ? 1e30L : 1, 0});
      memory.set(0, 2 * terms + t, {dtype == DType::f32 ? 3e38L : 1e308L, 0});
      memory.set(0, 3 * terms + t, {t == 5 ? HUGE_VALL : t == 35000 ? -HUGE_VALL : 1, 0});
    }
    for (const Candidate& candidate : codegen::candidates(b.body, host_target(), 4)) {
      HostKernel kernel(b.body, candidate);
      kernel.run(memory.pointers());
      SCOPED_TRACE(candidate.template_name);
      EXPECT_EQ(memory.get(1, 0).f, HUGE_VALL);
      EXPECT_EQ(memory.get(1, 1).f, -HUGE_VALL);
      EXPECT_EQ(memory.get(1, 2).f, HUGE_VALL);
      EXPECT_TRUE(std::isnan(memory.get(1, 3).f));
    }
  }
}

/// The element at a given place, and whether there is one: class losses.
TEST(HostReduce, PlacesAreFoundByTheirIndex) {
  const std::vector<std::int64_t> places = {0, 1, 15, 16, 39, 40, -1, -100, INT64_MIN, INT64_MAX, 1LL << 32};
  const auto rows = static_cast<std::int64_t>(places.size());
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    for (const bool columns : {false, true}) {
      constexpr std::int64_t n = 40;
      BodyBuilder b({{rows, false}, {n, true}});
      const std::vector<std::int64_t> along =
          columns ? std::vector<std::int64_t>{1, rows} : std::vector<std::int64_t>{n, 1};
      const auto x = b.load(dtype, along), place = b.load(DType::i64, {1, 0}), index = b.index({0, 1});
      const auto here = b.map("eq", DType::b8, {index, place}),
                 twice = b.map("eq", DType::b8, {place, b.index({0, 2}, 1)});
      const auto zero = b.constant({0.0}, dtype);
      b.store(b.reduce(ReduceKind::sum, b.map("where", dtype, {here, x, zero})), {1, 0});
      b.store(b.reduce(ReduceKind::any, twice), {1, 0});
      b.store(here, {n, 1});
      for (const Candidate& candidate : codegen::candidates(b.body, host_target(), 4)) {
        SCOPED_TRACE(candidate.template_name + " " + dtype_name(dtype));
        HostKernel kernel(b.body, candidate);
        Memory memory(b.body);
        fill_random(b.body, memory, 3);
        for (std::int64_t r = 0; r < rows; ++r) memory.set(1, r, {0, places[static_cast<std::size_t>(r)]});
        expect_matches(b.body, kernel, memory, 0, 0);
      }
    }
  }
}

TEST(HostReduce, PartialsAreRecombinedInEveryStageOfASplit) {
  BodyBuilder b({{2, false}, {50000, true}});
  softmax(b, DType::f32, {50000, 1});
  HostKernel kernel(b.body, {"reduce_split", {{"chunks", 7}}});
  EXPECT_EQ(kernel.source().launches.size(), 3u);
  EXPECT_EQ(kernel.source().launches[0].count, 14);
  Memory memory(b.body);
  fill_random(b.body, memory, 1);
  expect_matches(b.body, kernel, memory, 3e-6, 0);
}

TEST(HostReduce, RefusesParametersThatDoNotFit) {
  BodyBuilder b({{4, false}, {8, true}});
  b.store(b.reduce(ReduceKind::sum, b.load(DType::f32, {8, 1})), {1, 0});
  for (const Candidate& bad : std::vector<Candidate>{{"reduce_rows", {{"lanes", 16}}},
                                                     {"reduce_rows", {{"lanes", 3}}},
                                                     {"reduce_rows", {{"warp", 1}}},
                                                     {"map", {}},
                                                     {"nothing", {}}}) {
    const auto source = codegen::generate(b.body, bad, host_target(), "k");
    ASSERT_FALSE(source.ok());
    EXPECT_FALSE(source.rejection().reason.empty());
  }
}

/// An exponential that two stages need is computed once and kept beside the row; a subtraction is computed again.
TEST(HostReduce, RemembersWhatIsDearToCompute) {
  const auto text = [](const schedule::Body& body) {
    return codegen::generate(body, {"reduce_rows", {}}, host_target(), "k").value().text;
  };
  const auto count = [](const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  const std::string dear = text(softmax_rows(4, 512, DType::f32)), cheap = text(layer_norm(4, 512, DType::f32)),
                    long_row = text(softmax_rows(4, 1 << 20, DType::f32));
  EXPECT_EQ(count(dear, "ca::exp("), 1);
  EXPECT_EQ(count(dear, "alignas(64)"), 1);
  EXPECT_EQ(count(cheap, "alignas(64)"), 0);
  EXPECT_EQ(count(long_row, "ca::exp("), 2);
}

}  // namespace
}  // namespace cudaagent::testing
