// Needs no GPU. The environment variable CUDAAGENT_NVRTC names libnvrtc; without it, or a copy on the loader's path,
// the tests that compile are skipped.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "jit/nvrtc.h"
#include "jit/resource_report.h"

namespace cudaagent::jit {
namespace {

class NvrtcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* path = getenv("CUDAAGENT_NVRTC")) options.nvrtc_path = path;
    if (nvrtc_version(options).empty()) GTEST_SKIP() << "no NVRTC; set CUDAAGENT_NVRTC to libnvrtc.so";
  }
  codegen::Source source(const std::string& text) {
    codegen::Source result;
    result.language = codegen::Language::cuda;
    result.text = text;
    return result;
  }
  codegen::Target target(const std::string& arch) {
    codegen::Target result;
    result.language = codegen::Language::cuda;
    result.arch = arch;
    return result;
  }
  Options options;
};

const char* kernel_text = R"(
extern "C" __global__ void __launch_bounds__(256) reverse(const float* x, float* y) {
  __shared__ float tile[256];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[255 - threadIdx.x];
})";

TEST_F(NvrtcTest, CompilesToACubinForEveryArchitecture) {
  for (const char* arch : {"sm_80", "sm_90a", "sm_100a"}) {
    auto binary = compile(source(kernel_text), target(arch), options);
    ASSERT_TRUE(binary.ok()) << arch << binary.rejection().log;
    EXPECT_EQ(binary.value().image.substr(0, 4),
              "\x7f"
              "ELF")
        << arch;
    ASSERT_EQ(binary.value().resources.size(), 1u) << arch;
    EXPECT_EQ(binary.value().resources[0].kernel, "reverse");
    EXPECT_GT(binary.value().resources[0].registers, 0);
    EXPECT_EQ(binary.value().resources[0].spill_bytes, 0);
    EXPECT_EQ(binary.value().resources[0].shared_bytes, 1024) << arch;
    EXPECT_EQ(binary.value().log, "");
  }
}

TEST_F(NvrtcTest, SpillsAreReported) {
  auto binary = compile(source(R"(
extern "C" __global__ void __launch_bounds__(1024) wide(const float* x, float* y, int n) {
  float a[100];
  #pragma unroll
  for (int i = 0; i < 100; ++i) a[i] = x[i * n + threadIdx.x];
  float sum = 0;
  #pragma unroll
  for (int i = 0; i < 100; ++i) { sum += a[i]; y[i * n + threadIdx.x] = sum * a[99 - i]; }
})"),
                        target("sm_90a"), options);
  ASSERT_TRUE(binary.ok()) << binary.rejection().log;
  ASSERT_EQ(binary.value().resources.size(), 1u);
  EXPECT_GT(binary.value().resources[0].spill_bytes, 0);
  EXPECT_GT(binary.value().resources[0].stack_bytes, 0);
}

TEST_F(NvrtcTest, SameSourceGivesTheSameBytes) {
  auto first = compile(source(kernel_text), target("sm_90a"), options);
  auto second = compile(source(kernel_text), target("sm_90a"), options);
  EXPECT_EQ(first.value().image, second.value().image);
}

TEST_F(NvrtcTest, RefusalCarriesLogAndSource) {
  auto binary = compile(source("extern \"C\" __global__ void k() { undeclared_thing(); }"), target("sm_80"), options);
  ASSERT_FALSE(binary.ok());
  EXPECT_NE(binary.rejection().log.find("undeclared_thing"), std::string::npos);
  EXPECT_NE(binary.rejection().log.find("--- source ---"), std::string::npos);
  EXPECT_FALSE(compile(source(kernel_text), target("sm_1"), options).ok());
}

TEST_F(NvrtcTest, HeadersOfThePreludeFolderAreFound) {
  std::string pattern = std::filesystem::temp_directory_path().string() + "/jit-test-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  {
    std::ofstream(pattern + "/one.cuh") << "#include \"two.cuh\"\n";
  }
  {
    std::ofstream(pattern + "/two.cuh") << "#define FACTOR 3.0f\n";
  }
  options.prelude_dir = pattern;
  auto binary = compile(source("#include \"one.cuh\"\nextern \"C\" __global__ void k(float* x) { *x *= FACTOR; }"),
                        target("sm_90a"), options);
  EXPECT_TRUE(binary.ok()) << binary.rejection().log;
  std::filesystem::remove_all(pattern);
}

TEST_F(NvrtcTest, ThreadsCompileAtTheSameTime) {
  std::vector<codegen::Source> sources;
  for (int i = 0; i < 4; ++i) {
    sources.push_back(source("extern \"C\" __global__ void k" + std::to_string(i) + "(float* x) { *x += 1; }"));
  }
  auto results = compile_all(sources, target("sm_90a"), options, 4);
  for (int i = 0; i < 4; ++i) {
    auto& result = results[static_cast<std::size_t>(i)];
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result.value().resources.at(0).kernel, "k" + std::to_string(i));
  }
}

TEST_F(NvrtcTest, ArchitectureIsPartOfTheToolchainKey) {
  EXPECT_NE(toolchain_key(target("sm_80"), options), toolchain_key(target("sm_90a"), options));
  EXPECT_NE(survey(options).dump().find(nvrtc_version(options)), std::string::npos);
}

TEST(Nvrtc, MissingLibraryIsAUserError) {
  Options options;
  options.nvrtc_path = "/nonexistent/libnvrtc.so.13";
  codegen::Source source;
  source.language = codegen::Language::cuda;
  EXPECT_THROW(static_cast<void>(compile(source, {}, options)), UserError);
  EXPECT_EQ(nvrtc_version(options), "");
}

TEST(ResourceReport, SeveralKernelsAndMissingFigures) {
  const char* log =
      "kernel.cu(3): warning #177-D: variable \"z\" was declared but never referenced\n"
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'q' for 'sm_80'\n"
      "ptxas info    : Function properties for q\n"
      "ptxas         .     280 bytes stack frame, 276 bytes spill stores, 344 bytes spill loads\n"
      "ptxas info    : Used 64 registers, used 0 barriers, 280 bytes cumulative stack size, 372 bytes cmem[0]\n"
      "ptxas info    : Compile time = 43.069 ms\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
      "ptxas info    : Used 55 registers, used 1 barriers, 2048 bytes smem, 372 bytes cmem[0]\n";
  auto report = parse_resource_report(log);
  ASSERT_EQ(report.size(), 2u);
  EXPECT_EQ(report[0].kernel, "q");
  EXPECT_EQ(report[0].registers, 64);
  EXPECT_EQ(report[0].spill_bytes, 620);
  EXPECT_EQ(report[0].stack_bytes, 280);
  EXPECT_EQ(report[0].shared_bytes, 0);
  EXPECT_EQ(report[1].registers, 55);
  EXPECT_EQ(report[1].shared_bytes, 2048);
  EXPECT_EQ(without_resource_report(log),
            "kernel.cu(3): warning #177-D: variable \"z\" was declared but never referenced\n");
  EXPECT_TRUE(parse_resource_report("").empty());
}

}  // namespace
}  // namespace cudaagent::jit
