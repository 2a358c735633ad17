#include <cmath>
#include <limits>

#include "cuda_bodies.h"
#include "cuda_harness.h"

namespace cudaagent::testing {
namespace {

using codegen::Candidate;
using ir::ReduceKind;

const std::vector<ReduceKind> every_kind = {ReduceKind::sum,    ReduceKind::prod,   ReduceKind::max, ReduceKind::min,
                                            ReduceKind::argmax, ReduceKind::argmin, ReduceKind::any, ReduceKind::all};
const std::vector<DType> every_dtype = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8,
                                        DType::i16, DType::i32, DType::i64, DType::u8,   DType::b8};

Candidate rows(std::int64_t lanes, std::int64_t groups, std::int64_t vector, std::int64_t keep,
               std::int64_t cluster = 1) {
  return {
      "reduce_rows",
      {{"lanes", lanes}, {"groups", groups}, {"vector", vector}, {"keep", keep}, {"cluster", cluster}, {"unroll", 2}}};
}
Candidate columns(std::int64_t lanes, std::int64_t groups, std::int64_t vector, std::int64_t keep) {
  return {"reduce_columns", {{"lanes", lanes}, {"groups", groups}, {"vector", vector}, {"keep", keep}, {"unroll", 2}}};
}
Candidate split(bool columns, std::int64_t lanes, std::int64_t groups, std::int64_t vector, std::int64_t splits) {
  return {"reduce_split",
          {{"columns", columns},
           {"lanes", lanes},
           {"groups", groups},
           {"vector", vector},
           {"splits", splits},
           {"unroll", 2}}};
}

TEST(CudaReduce, CarriesEveryKindInEveryDtype) {
  std::vector<CudaCase> cases;
  for (const DType dtype : every_dtype)
    for (const ReduceKind kind : every_kind) {
      const bool truth = kind == ReduceKind::any || kind == ReduceKind::all;
      if (dtype == DType::b8 && (kind == ReduceKind::sum || kind == ReduceKind::prod)) continue;
      const std::string name = std::string(dtype_name(dtype)) + " " + std::string(ir::reduce_kind_name(kind));
      const double tolerance = truth ? 0 : std::max(tolerance_of(dtype), is_float(dtype) ? 2e-6 : 0.0);
      const auto add = [&](const char* how, schedule::Body body, Candidate candidate) {
        cases.push_back({name + how, std::move(body), std::move(candidate), tolerance, 4e-6});
      };
      add(" rows", plain_reduction(kind, 3, 80, dtype, false), rows(8, 4, 2, 0));
      if (dtype == DType::f32 || dtype == DType::i64) {
        add(" block", plain_reduction(kind, 2, 700, dtype, false), rows(96, 1, 2, 0));
        add(" columns", plain_reduction(kind, 36, 50, dtype, true), columns(8, 8, 2, 0));
        add(" split", full_reduction(kind, 3000, dtype), split(false, 64, 1, 2, 7));
        add(" split columns", plain_reduction(kind, 12, 500, dtype, true), split(true, 8, 8, 2, 5));
      }
    }
  check_cases(cases);
}

TEST(CudaReduce, KeepsRowsOfEveryLengthInRegisters) {
  std::vector<CudaCase> cases;
  for (const std::int64_t length : {1, 5, 31, 64, 100, 257, 1000, 1024})
    cases.push_back(chosen("softmax of " + std::to_string(length), softmax_rows(5, length, DType::f32), 2e-6, 1e-12));
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16})
    cases.push_back(
        chosen(std::string("softmax ") + dtype_name(dtype), softmax_rows(3, 768, dtype), tolerance_of(dtype), 1e-6));
  for (const std::int64_t length : {96, 768, 1023, 4096})
    cases.push_back(chosen("layer norm of " + std::to_string(length), layer_norm(3, length, DType::f32), 1e-5, 1e-5));
  cases.push_back(chosen("group norm", group_norm(2, 3, 4, 100), 1e-5, 1e-5));
  cases.push_back(chosen("group norm over a cluster", group_norm(1, 2, 8, 4096), 1e-5, 1e-5));
  cases.push_back(chosen("layer norm bf16", layer_norm(7, 512, DType::bf16), 2e-2, 2e-2));
  check_cases(cases);
}

TEST(CudaReduce, ReadsAgainWhatDoesNotFit) {
  check_cases({{"warp", softmax_rows(9, 700, DType::f32), rows(32, 4, 4, 0), 2e-6, 1e-12},
               {"part of a warp", softmax_rows(9, 70, DType::f32), rows(8, 4, 2, 0), 2e-6, 1e-12},
               {"block", softmax_rows(3, 2500, DType::f32), rows(160, 1, 4, 0), 2e-6, 1e-12},
               {"two rows a block", layer_norm(5, 1200, DType::f32), rows(64, 2, 4, 0), 1e-5, 1e-5}});
}

TEST(CudaReduce, SpreadsARowOverACluster) {
  check_cases({{"two", softmax_rows(3, 1030, DType::f32), rows(64, 1, 2, 1, 2), 2e-6, 1e-12},
               {"eight", softmax_rows(2, 3001, DType::f32), rows(32, 1, 1, 1, 8), 2e-6, 1e-12},
               {"argmax", plain_reduction(ReduceKind::argmax, 3, 999, DType::f32, false), rows(32, 1, 1, 0, 4)},
               {"norm", layer_norm(2, 2048, DType::f16), rows(64, 1, 8, 1, 4), 1e-2, 1e-2}});
}

/// Rows that begin anywhere in a vector: every length modulo the vector, in every way of walking a row.
TEST(CudaReduce, StartsRowsAtTheirFirstAlignedVector) {
  std::vector<CudaCase> cases;
  for (const std::int64_t length : {129, 130, 131, 133, 1027}) {
    const std::string name = std::to_string(length);
    cases.push_back({"again " + name, softmax_rows(9, length, DType::f32), rows(32, 1, 4, 0), 2e-6, 1e-12});
    cases.push_back({"registers " + name, softmax_rows(9, length, DType::f32), rows(32, 4, 4, 1), 2e-6, 1e-12});
    cases.push_back({"shared " + name, softmax_rows(9, length, DType::f32), rows(32, 1, 4, 2), 2e-6, 1e-12});
    cases.push_back({"cluster " + name, softmax_rows(5, length, DType::f32), rows(32, 1, 4, 1, 2), 2e-6, 1e-12});
    cases.push_back({"bf16 " + name, softmax_rows(9, length, DType::bf16), rows(32, 1, 8, 1), 2e-2, 1e-6});
    // Weights do not begin where the rows do.
    cases.push_back({"norm " + name, layer_norm(7, length, DType::f32), rows(32, 2, 4, 1), 1e-5, 1e-5});
    for (const ReduceKind kind : every_kind)
      cases.push_back({std::string(ir::reduce_kind_name(kind)) + " " + name,
                       plain_reduction(kind, 7, length, DType::f32, false), rows(32, 1, 2, 0), 2e-6, 4e-6});
  }
  cases.push_back({"split", softmax_rows(3, 1027, DType::f32), split(false, 32, 1, 4, 3), 2e-6, 1e-12});
  cases.push_back(chosen("chosen", softmax_rows(3, 2049, DType::f32), 2e-6, 1e-12));
  cases.push_back(chosen("chosen cluster", softmax_rows(2, 50257, DType::f32), 2e-6, 1e-12));
  check_cases(cases);
}

TEST(CudaReduce, KeepsRowsInSharedMemory) {
  check_cases({{"softmax", softmax_rows(3, 1024, DType::f32), rows(64, 1, 4, 2), 2e-6, 1e-12},
               {"cluster", softmax_rows(2, 3000, DType::f32), rows(64, 1, 4, 2, 4), 2e-6, 1e-12},
               {"norm", layer_norm(3, 768, DType::bf16), rows(32, 1, 8, 2), 2e-2, 2e-2},
               {"two axes", group_norm(2, 3, 4, 100), rows(64, 1, 4, 2, 2), 1e-5, 1e-5}});
}

TEST(CudaReduce, FetchesRowsBeforeItMeetsThem) {
  check_cases({{"softmax", softmax_rows(7, 1024, DType::f32), rows(64, 1, 4, 3), 2e-6, 1e-12},
               {"cluster", softmax_rows(4, 3000, DType::f32), rows(64, 1, 4, 3, 4), 2e-6, 1e-12},
               {"shifted", softmax_rows(9, 1027, DType::f32), rows(32, 1, 4, 3, 2), 2e-6, 1e-12},
               {"norm", layer_norm(5, 771, DType::f32), rows(32, 1, 4, 3), 1e-5, 1e-5},
               {"norm bf16", layer_norm(5, 768, DType::bf16), rows(32, 1, 8, 3), 2e-2, 2e-2},
               {"two axes", group_norm(2, 3, 4, 100), rows(64, 1, 4, 3, 2), 1e-5, 1e-5},
               {"argmax", plain_reduction(ReduceKind::argmax, 11, 515, DType::f32, false), rows(64, 1, 4, 3, 2)}});
}

/// A row of [rows, length] inside rows of `pitch`, from `offset` on, every `stride`-th element; the output is dense.
schedule::Body softmax_inside(std::int64_t rows, std::int64_t length, std::int64_t pitch, std::int64_t offset,
                              std::int64_t stride, DType dtype) {
  BodyBuilder b({{rows, false}, {length, true}});
  const auto x = b.map("convert", DType::f32, {b.load(dtype, {pitch, stride}, offset)});
  const auto e = b.map("exp", DType::f32, {b.map("sub", DType::f32, {x, b.reduce(ReduceKind::max, x)})});
  b.store(b.map("div", DType::f32, {e, b.reduce(ReduceKind::sum, e)}), {length, 1});
  return b.body;
}

/// The analytic model never chooses what the generator then refuses.
TEST(CudaReduce, WhatIsChosenIsGenerated) {
  for (const std::int64_t length : {5, 2000, 20001, 50257, 60000, 131072, 500000})
    for (const auto& [offset, stride] : {std::pair{0, 1}, {1, 1}, {0, 2}, {3, 5}})
      for (const DType dtype : {DType::f32, DType::bf16, DType::i8, DType::f64})
        for (const char* arch : {"sm_80", "sm_86", "sm_90a"}) {
          const schedule::Body body = softmax_inside(64, length, length * stride + 7, offset, stride, dtype);
          const codegen::Target target = cuda_target(arch);
          const auto source = codegen::generate(body, codegen::choose(body, target), target, "k");
          EXPECT_TRUE(source.ok()) << length << " from " << offset << " by " << stride << " " << dtype_name(dtype)
                                   << " on " << arch;
        }
  check_cases({chosen("offset", softmax_inside(3, 2049, 2060, 1, 1, DType::f32), 2e-6, 1e-12),
               chosen("stride", softmax_inside(3, 2049, 4100, 0, 2, DType::f32), 2e-6, 1e-12)});
}

/// A long share of a sum of numbers that do not cancel: rounding must not grow with its length.
TEST(CudaReduce, AddsLongSharesInACascade) {
  const std::int64_t length = 1 << 20;
  for (const Candidate& how : {rows(32, 1, 4, 0), split(false, 32, 1, 4, 2)}) {
    const std::vector<CudaCase> cases = {{how.template_name, full_reduction(ReduceKind::sum, length, DType::f32), how}};
    Emulator emulator(cases);
    std::vector<float> x(static_cast<std::size_t>(length));
    double truth = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      truth += x[i] = 1.0f + static_cast<float>(i * 2654435761u % 1000u) * 1e-3f;
    float sum = 0;
    emulator.run(0, {x.data(), &sum});
    EXPECT_NEAR(sum / truth, 1, 2e-7) << how.template_name;
  }
}

/// A quotient by a value of the row is the correctly rounded one: x / x is 1, zeros keep their signs, and what leaves
/// the normal numbers is divided after all.
TEST(CudaReduce, DividesByAValueOfTheRowExactly) {
  const std::int64_t rows_of_test = 4000, length = 8;
  BodyBuilder b({{rows_of_test, false}, {length, true}});
  const auto x = b.load(DType::f32, {length, 1});
  b.store(b.map("div", DType::f32, {x, b.reduce(ReduceKind::max, x)}), {length, 1});
  Emulator emulator({{"x / max", b.body, rows(8, 4, 2, 0)}});
  std::vector<float> in(static_cast<std::size_t>(rows_of_test * length)), out(in.size());
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows_of_test); ++r) {
    const float most =
        std::ldexp(1.0f + static_cast<float>(r * 2654435761u % 8388608u) * 0x1p-23f, static_cast<int>(r % 200) - 100);
    const float row[] = {most, most * 0.37f, -most * 1e-6f, 0.0f, -0.0f, -most * 1e-30f, -1e-42f, -3e38f};
    for (std::size_t e = 0; e < 8; ++e) in[r * 8 + e] = row[e];
  }
  emulator.run(0, {in.data(), out.data()});
  for (std::size_t i = 0; i < in.size(); ++i) {
    const float expected = in[i] / in[i / 8 * 8];
    ASSERT_EQ(out[i], expected) << in[i] << " / " << in[i / 8 * 8];
    ASSERT_EQ(std::signbit(out[i]), std::signbit(expected));
  }
}

/// No card is asked for more shared memory than it has: a row goes elsewhere, or the shape is refused.
TEST(CudaReduce, KeepsToTheSharedMemoryOfTheCard) {
  for (const std::int64_t length : {20000, 30000, 50257, 131072, 400000})
    for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120"}) {
      const schedule::Body body = softmax_rows(64, length, DType::f32);
      const codegen::Target target = cuda_target(arch);
      for (const Candidate& candidate : codegen::candidates(body, target, 64)) {
        const auto source = codegen::generate(body, candidate, target, "k");
        if (!source.ok()) continue;
        for (const codegen::Launch& launch : source.value().launches)
          EXPECT_LE(launch.shared_bytes, target.shared_bytes() - 1024) << length << " on " << arch;
      }
      EXPECT_TRUE(codegen::generate(body, codegen::choose(body, target), target, "k").ok()) << length << " on " << arch;
    }
}

TEST(CudaReduce, ReducesColumns) {
  std::vector<CudaCase> cases;
  for (const std::int64_t inner : {1, 7, 33, 64, 196})
    cases.push_back(
        chosen("softmax over channels, " + std::to_string(inner), softmax_channels(2, 10, inner), 2e-6, 1e-12));
  cases.push_back({"in registers", softmax_channels(2, 40, 36), columns(8, 8, 4, 1), 2e-6, 1e-12});
  cases.push_back({"read again", softmax_channels(3, 40, 36), columns(8, 4, 4, 0), 2e-6, 1e-12});
  cases.push_back({"one line", softmax_channels(1, 5, 128), columns(32, 1, 4, 0), 2e-6, 1e-12});
  cases.push_back(chosen("column sums", plain_reduction(ReduceKind::sum, 300, 1000, DType::f32, true), 1e-5, 1e-4));
  cases.push_back(
      {"rows on strided axes", plain_reduction(ReduceKind::max, 40, 33, DType::f32, true), rows(8, 4, 1, 0)});
  cases.push_back(
      {"columns on strided axes", plain_reduction(ReduceKind::max, 40, 33, DType::f32, false), columns(8, 4, 1, 0)});
  check_cases(cases);
}

TEST(CudaReduce, SplitsFewRowsOverManyBlocks) {
  check_cases({{"batch norm", batch_norm(4, 3, 100), split(false, 64, 1, 4, 3), 1e-5, 1e-5},
               {"batch norm, odd", batch_norm(3, 5, 49), split(false, 32, 2, 1, 4), 1e-5, 1e-5},
               {"softmax of columns", softmax_channels(1, 400, 12), split(true, 4, 8, 2, 6), 2e-6, 1e-12},
               {"argmin of all", full_reduction(ReduceKind::argmin, 5001, DType::f32), split(false, 64, 1, 1, 9)},
               chosen("sum of all", full_reduction(ReduceKind::sum, 200000, DType::f32), 1e-5, 1e-3),
               chosen("batch norm in one kernel", batch_norm(2, 6, 64), 1e-5, 1e-5)});
}

/// NaN wins max and min, and its first position argmax and argmin; an index counts in row-major order over all axes.
TEST(CudaReduce, NaNWinsAndTheFirstOfEqualsIsFound) {
  std::vector<CudaCase> cases;
  for (const ReduceKind kind : {ReduceKind::max, ReduceKind::min, ReduceKind::argmax, ReduceKind::argmin})
    for (const Candidate& how :
         {rows(32, 1, 2, 0), rows(64, 2, 2, 0), rows(32, 1, 4, 0), rows(64, 1, 4, 0), split(false, 32, 1, 2, 3)})
      cases.push_back({std::string(ir::reduce_kind_name(kind)) + " " + how.template_name,
                       plain_reduction(kind, 4, 250, DType::f32, false), how});
  Emulator emulator(cases);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    SCOPED_TRACE(cases[k].name);
    Memory memory(cases[k].body);
    for (std::int64_t i = 0; i < 1000; ++i) memory.set(0, i, {static_cast<long double>(i * 7 % 5), 0});
    for (const std::int64_t i : {260, 300, 499}) memory.set(0, i, {std::numeric_limits<long double>::quiet_NaN(), 0});
    for (std::int64_t i = 500; i < 750; ++i) memory.set(0, i, {-std::numeric_limits<long double>::infinity(), 0});
    EmulatedKernel kernel{emulator, k, cases[k].body};
    expect_matches(cases[k].body, kernel, memory, 0, 0);
  }
}

TEST(CudaReduce, StoresRowAndElementValuesTogether) {
  BodyBuilder b({{6, false}, {130, true}});
  const auto x = b.load(DType::f32, {130, 1});
  const auto sum = b.reduce(ReduceKind::sum, x), most = b.reduce(ReduceKind::max, x),
             where = b.reduce(ReduceKind::argmax, x);
  b.store(sum, {1, 0});
  b.store(where, {2, 0}, 1);
  b.store(b.map("sub", DType::f32, {x, b.map("mul", DType::f32, {most, b.load(DType::f32, {1, 0})})}), {130, 1});
  b.store(b.map("add", DType::i64, {b.index({0, 3}, 2), where}), {130, 1});
  check_cases({{"lanes", b.body, rows(16, 2, 2, 1), 1e-5, 1e-5},
               {"block", b.body, rows(64, 1, 1, 0), 1e-5, 1e-5},
               {"columns", b.body, columns(2, 16, 1, 0), 1e-5, 1e-5},
               {"split", b.body, split(false, 32, 1, 2, 2), 1e-5, 1e-5}});
}

/// An empty row has the start value of its reduction; without rows nothing is launched.
TEST(CudaReduce, HandlesEmptySpaces) {
  const std::vector<CudaCase> cases = {chosen("sum", plain_reduction(ReduceKind::sum, 5, 0, DType::f32, false)),
                                       chosen("prod", plain_reduction(ReduceKind::prod, 5, 0, DType::f32, false)),
                                       chosen("no rows", plain_reduction(ReduceKind::sum, 0, 70, DType::f32, false))};
  Emulator emulator(cases);
  for (std::size_t k = 0; k < 2; ++k) {
    std::vector<float> input(1), output(5, 9.0f);
    emulator.run(k, {input.data(), output.data()});
    EXPECT_EQ(output, std::vector<float>(5, static_cast<float>(k))) << cases[k].name;
  }
  EXPECT_TRUE(emulator.source(2).launches.empty());
}

TEST(CudaReduce, RefusesShapesThatDoNotFit) {
  const schedule::Body body = softmax_rows(64, 4096, DType::f32);
  for (const Candidate& bad :
       {rows(48, 1, 4, 0), rows(24, 4, 4, 0), rows(1024, 2, 4, 0), rows(128, 1, 3, 0), rows(32, 1, 4, 1, 16),
        rows(32, 2, 4, 1, 2), rows(8, 16, 4, 1), rows(64, 2, 4, 2), split(false, 128, 1, 4, 1)})
    EXPECT_FALSE(codegen::generate(body, bad, cuda_target(), "k").ok());
  EXPECT_FALSE(codegen::generate(body, rows(128, 1, 4, 1, 2), cuda_target("sm_80"), "k").ok());
  EXPECT_FALSE(
      codegen::generate(full_reduction(ReduceKind::sum, 99, DType::f32), columns(32, 1, 1, 0), cuda_target(), "k")
          .ok());
}

}  // namespace
}  // namespace cudaagent::testing
