// Every template under NVRTC for every architecture it claims, with the compiler's report against a checked-in table.
// CUDAAGENT_NVRTC names libnvrtc; without it, or a copy on the loader's path, the tests are skipped.
// CUDAAGENT_UPDATE_TABLE=1 writes the table anew.
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "cuda_bodies.h"
#include "cuda_harness.h"

namespace cudaagent::testing {
namespace {

using codegen::Candidate;
using ir::ReduceKind;

const std::string table_path = std::string(CUDAAGENT_SOURCE_DIR) + "/tests/codegen/cuda_registers.tsv";

struct Compiled {
  std::string name;
  schedule::Body body;
};

std::vector<Compiled> bodies() {
  std::vector<Compiled> all;
  for (const std::int64_t length : {20, 256, 1024, 4096, 16384, 50257, 131072})
    all.push_back({"softmax " + std::to_string(length), softmax_rows(4096, length, DType::f32)});
  for (const DType dtype : {DType::f64, DType::f16, DType::bf16}) {
    const std::string name = dtype_name(dtype);
    all.push_back({"softmax " + name, softmax_rows(4096, 4096, dtype)});
    all.push_back({"gelu " + name, gelu(1 << 26, dtype)});
    all.push_back({"layer norm " + name, layer_norm(8192, 4096, dtype)});
  }
  all.push_back({"layer norm 768", layer_norm(8192, 768, DType::f32)});
  all.push_back({"layer norm 8192", layer_norm(8192, 8192, DType::f32)});
  all.push_back({"gelu", gelu(1 << 26, DType::f32)});
  all.push_back({"gelu odd", gelu(10007, DType::f32)});
  all.push_back({"scale relu", scale_relu(32, 64, 112 * 112, DType::f32)});
  all.push_back({"scale relu 49", scale_relu(32, 512, 49, DType::f32)});
  all.push_back({"batch norm", batch_norm(32, 64, 112 * 112)});
  all.push_back({"batch norm 49", batch_norm(32, 512, 49)});
  all.push_back({"group norm", group_norm(128, 8, 8, 128 * 128)});
  all.push_back({"channels last", channels_last(64, 256, 56 * 56, DType::f32)});
  all.push_back({"channels last bf16", channels_last(64, 256, 49, DType::bf16)});
  all.push_back({"softmax channels 64", softmax_channels(16, 64, 128 * 128)});
  all.push_back({"softmax channels 1000", softmax_channels(16, 1000, 64 * 64)});
  for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::argmax}) {
    const std::string name(ir::reduce_kind_name(kind));
    all.push_back({"rows " + name, plain_reduction(kind, 8192, 8192, DType::f32, false)});
    all.push_back({"columns " + name, plain_reduction(kind, 4096, 16384, DType::f32, true)});
    all.push_back({"narrow columns " + name, plain_reduction(kind, 64, 1 << 20, DType::f32, true)});
    all.push_back({"all " + name, full_reduction(kind, 1 << 28, DType::f32)});
  }
  all.push_back({"rows any", plain_reduction(ReduceKind::any, 4096, 4096, DType::b8, false)});
  return all;
}

/// "name\tarch\tkernel" -> registers.
using Table = std::map<std::string, int>;

Table read_table() {
  Table table;
  std::ifstream file(table_path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.rfind('\t');
    if (tab != std::string::npos && line[0] != '#') table[line.substr(0, tab)] = std::stoi(line.substr(tab + 1));
  }
  return table;
}

class CudaCompile : public ::testing::Test {
 protected:
  void SetUp() override {
    options.prelude_dir = std::string(CUDAAGENT_SOURCE_DIR) + "/csrc/codegen/templates";
    if (const char* path = std::getenv("CUDAAGENT_NVRTC")) options.nvrtc_path = path;
    if (jit::survey(options).at("nvrtc").is_null()) GTEST_SKIP() << "no NVRTC; set CUDAAGENT_NVRTC to libnvrtc.so";
  }
  Options options;
};

TEST_F(CudaCompile, EveryTemplateFitsItsRegistersOnEveryArchitecture) {
  const std::vector<Compiled> all = bodies();
  Table measured;
  for (const char* arch : {"sm_80", "sm_90a", "sm_100a"}) {
    std::vector<codegen::Source> sources;
    for (const Compiled& one : all)
      sources.push_back(
          codegen::generate(one.body, codegen::choose(one.body, cuda_target(arch)), cuda_target(arch), "k").value());
    const auto binaries = jit::compile_all(sources, cuda_target(arch), options, 2);
    for (std::size_t k = 0; k < all.size(); ++k) {
      ASSERT_TRUE(binaries[k].ok()) << all[k].name << " for " << arch << "\n" << binaries[k].rejection().log;
      for (const jit::Resources& kernel : binaries[k].value().resources) {
        EXPECT_EQ(kernel.spill_bytes, 0) << all[k].name << " for " << arch;
        EXPECT_LE(kernel.shared_bytes, 48 << 10) << all[k].name << " for " << arch;
        measured[all[k].name + "\t" + arch + "\t" + kernel.kernel] = kernel.registers;
      }
    }
  }
  if (std::getenv("CUDAAGENT_UPDATE_TABLE")) {
    std::ofstream file(table_path);
    file << "# body, architecture, kernel, registers a thread\n";
    for (const auto& [key, registers] : measured) file << key << "\t" << registers << "\n";
  }
  const Table table = read_table();
  for (const auto& [key, registers] : measured) {
    const auto known = table.find(key);
    ASSERT_NE(known, table.end()) << key << " is not in the table; CUDAAGENT_UPDATE_TABLE=1 writes it";
    // Releases of the compiler differ by a few.
    EXPECT_NEAR(registers, known->second, 8) << key;
  }
}

TEST_F(CudaCompile, EveryCandidateCompilesWithoutSpills) {
  std::vector<codegen::Source> sources;
  std::vector<std::string> names;
  for (const Compiled& one :
       {Compiled{"softmax", softmax_rows(4096, 4096, DType::f32)}, Compiled{"gelu", gelu(1 << 24, DType::bf16)},
        Compiled{"columns", plain_reduction(ReduceKind::sum, 4096, 16384, DType::f32, true)}})
    for (const Candidate& candidate : codegen::candidates(one.body, cuda_target(), 8)) {
      auto source = codegen::generate(one.body, candidate, cuda_target(), "k");
      if (!source) continue;
      sources.push_back(source.value());
      names.push_back(one.name);
    }
  const auto binaries = jit::compile_all(sources, cuda_target(), options, 2);
  for (std::size_t k = 0; k < binaries.size(); ++k) {
    ASSERT_TRUE(binaries[k].ok()) << binaries[k].rejection().log;
    for (const jit::Resources& kernel : binaries[k].value().resources)
      EXPECT_EQ(kernel.spill_bytes, 0) << names[k] << "\n" << sources[k].text;
  }
}

TEST_F(CudaCompile, EveryFunctionCompilesInEveryDtype) {
  std::vector<codegen::Source> sources;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::i16, DType::i32,
                            DType::i64, DType::u8, DType::b8}) {
    BodyBuilder b({{1024, false}});
    const auto x = b.load(dtype, {1}), y = b.load(dtype, {1}), z = b.load(dtype, {1});
    for (const ir::MapFn& fn : ir::map_fns()) {
      const bool defined = is_float(dtype) ? fn.floats : dtype == DType::b8 ? fn.bools : fn.ints;
      if (!defined || fn.name == "where") continue;
      const std::vector<std::int32_t> operands{x, y, z};
      b.store(b.map(std::string(fn.name), fn.predicate ? DType::b8 : dtype,
                    {operands.begin(), operands.begin() + fn.arity}),
              {1});
    }
    sources.push_back(codegen::generate(b.body, {"map", {{"vector", 1}, {"unroll", 1}}}, cuda_target(), "k").value());
  }
  for (const auto& binary : jit::compile_all(sources, cuda_target("sm_80"), options, 2))
    ASSERT_TRUE(binary.ok()) << binary.rejection().log;
}

}  // namespace
}  // namespace cudaagent::testing
