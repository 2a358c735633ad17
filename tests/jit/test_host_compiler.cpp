#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "jit/host_compiler.h"

namespace cudaagent::jit {
namespace {

Options options() {
  Options result;
  result.cxx = "g++";
  return result;
}

codegen::Source host_source(const std::string& text) {
  codegen::Source source;
  source.text = text;
  return source;
}

const char* square_text = R"(
extern "C" void square(void* const* args, long begin, long end) {
  const float* __restrict x = (const float*)args[0];
  float* __restrict y = (float*)args[1];
  for (long i = begin; i < end; ++i) y[i] = x[i] * x[i];
})";

TEST(HostCompiler, CompiledKernelIsCallable) {
  auto binary = compile(host_source(square_text), {}, options());
  ASSERT_TRUE(binary.ok()) << binary.rejection().log;
  auto module = load(binary.value(), Device{});
  ASSERT_TRUE(module.ok()) << module.rejection().log;
  auto square = reinterpret_cast<HostKernel>(module.value()->kernel("square"));
  float x[100], y[100] = {};
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i);
  void* args[] = {x, y};
  square(args, 10, 100);
  EXPECT_EQ(y[9], 0);
  EXPECT_EQ(y[10], 100);
  EXPECT_EQ(y[99], 99 * 99);
}

TEST(HostCompiler, ModulesOfTheSameKernelNameDoNotMix) {
  auto body = [](const char* value) {
    return std::string("extern \"C\" void k(void* const* args, long, long) { *(int*)args[0] = ") + value + "; }";
  };
  std::vector<std::unique_ptr<Module>> modules;
  for (const char* value : {"1", "2", "3"}) {
    auto binary = compile(host_source(body(value)), {}, options());
    ASSERT_TRUE(binary.ok());
    auto module = load(binary.value(), Device{});
    ASSERT_TRUE(module.ok());
    modules.push_back(std::move(module.value()));
  }
  for (int i = 0; i < 3; ++i) {
    int got = 0;
    void* args[] = {&got};
    reinterpret_cast<HostKernel>(modules[static_cast<std::size_t>(i)]->kernel("k"))(args, 0, 1);
    EXPECT_EQ(got, i + 1);
  }
}

TEST(HostCompiler, KeepsNanInfinityAndSignedZero) {
  auto binary = compile(host_source(R"(
extern "C" void k(void* const* args, long begin, long end) {
  const double* x = (const double*)args[0];
  double* y = (double*)args[1];
  for (long i = begin; i < end; ++i) y[i] = x[i] != x[i] ? 1.0 : (x[i] - x[i]) + x[i] * 0.0;
})"),
                        {}, options());
  ASSERT_TRUE(binary.ok());
  auto module = load(binary.value(), Device{});
  ASSERT_TRUE(module.ok());
  double x[] = {std::nan(""), std::numeric_limits<double>::infinity(), -0.0, 2.0}, y[4];
  void* args[] = {x, y};
  reinterpret_cast<HostKernel>(module.value()->kernel("k"))(args, 0, 4);
  EXPECT_EQ(y[0], 1.0);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], 0.0);
  EXPECT_EQ(y[3], 0.0);
}

TEST(HostCompiler, RefusalCarriesLogAndSource) {
  auto binary = compile(host_source("extern \"C\" void k() { undeclared_thing(); }"), {}, options());
  ASSERT_FALSE(binary.ok());
  EXPECT_EQ(binary.rejection().stage, "jit");
  EXPECT_NE(binary.rejection().log.find("undeclared_thing"), std::string::npos);
  EXPECT_NE(binary.rejection().log.find("--- source ---"), std::string::npos);
  EXPECT_EQ(binary.rejection().log.find("cudaagent-"), std::string::npos) << "a private path leaks into the log";
}

TEST(HostCompiler, UndefinedSymbolIsRefusedWhenLinked) {
  auto binary = compile(host_source("extern \"C\" void absent(); extern \"C\" void k() { absent(); }"), {}, options());
  EXPECT_FALSE(binary.ok());
}

TEST(HostCompiler, MissingCompilerSaysWhatToInstall) {
  Options wrong = options();
  wrong.cxx = "no-such-compiler";
  try {
    static_cast<void>(compile(host_source(square_text), {}, wrong));
    FAIL() << "compiled without a compiler";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("apt-get install g++"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("TORCH_CUDAAGENT_CXX"), std::string::npos) << error.what();
  }
}

TEST(HostCompiler, LimitEndsASlowCompilation) {
  // Every instantiation doubles the work: minutes for g++.
  auto source = host_source(R"(
template <int N, int K> struct T { static constexpr int v = T<N - 1, 2 * K>::v + T<N - 1, 2 * K + 1>::v; };
template <int K> struct T<0, K> { static constexpr int v = 1; };
extern "C" int k() { return T<22, 1>::v; })");
  auto binary = compile_host(source, options(), 0.5);
  ASSERT_FALSE(binary.ok());
  EXPECT_NE(binary.rejection().reason.find("limit"), std::string::npos) << binary.rejection().reason;
}

TEST(HostCompiler, AbsentKernelIsABug) {
  auto binary = compile(host_source(square_text), {}, options());
  ASSERT_TRUE(binary.ok());
  auto module = load(binary.value(), Device{});
  ASSERT_TRUE(module.ok());
  EXPECT_THROW(module.value()->kernel("cube"), InternalError);
}

TEST(HostCompiler, GarbageDoesNotLoad) {
  Binary binary;
  binary.image = "not a shared object";
  EXPECT_FALSE(load(binary, Device{}).ok());
}

TEST(HostCompiler, NothingStaysInTheTemporaryFolder) {
  std::string pattern = std::filesystem::temp_directory_path().string() + "/jit-test-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const char* old = getenv("TMPDIR");
  std::string before = old ? old : "";
  setenv("TMPDIR", pattern.c_str(), 1);
  auto binary = compile(host_source(square_text), {}, options());
  ASSERT_TRUE(binary.ok());
  auto module = load(binary.value(), Device{});
  static_cast<void>(compile(host_source("error"), {}, options()));
  EXPECT_TRUE(std::filesystem::is_empty(pattern));
  old ? setenv("TMPDIR", before.c_str(), 1) : unsetenv("TMPDIR");
  std::filesystem::remove_all(pattern);
}

TEST(CompileAll, ResultsAreInOrderAndFailuresAreSingle) {
  std::vector<codegen::Source> sources;
  for (int i = 0; i < 6; ++i) {
    sources.push_back(host_source("extern \"C\" int k() { return " + (i == 3 ? "nothing" : std::to_string(i)) + "; }"));
  }
  auto results = compile_all(sources, {}, options(), 3);
  ASSERT_EQ(results.size(), 6u);
  for (int i = 0; i < 6; ++i) {
    auto& result = results[static_cast<std::size_t>(i)];
    ASSERT_EQ(result.ok(), i != 3);
    if (i == 3) continue;
    auto module = load(result.value(), Device{});
    ASSERT_TRUE(module.ok());
    EXPECT_EQ(reinterpret_cast<int (*)()>(module.value()->kernel("k"))(), i);
  }
}

TEST(CompileAll, MissingCompilerThrowsFromAnyThread) {
  Options wrong = options();
  wrong.cxx = "no-such-compiler";
  std::vector<codegen::Source> sources(5, host_source(square_text));
  EXPECT_THROW(compile_all(sources, {}, wrong, 3), UserError);
  EXPECT_TRUE(compile_all({}, {}, wrong, 3).empty());
}

TEST(ToolchainKey, DependsOnTheCompilerAndThePrelude) {
  std::string pattern = std::filesystem::temp_directory_path().string() + "/jit-test-XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  Options with = options();
  with.prelude_dir = pattern;
  codegen::Target host;
  std::string bare = toolchain_key(host, with);
  EXPECT_EQ(bare, toolchain_key(host, with));
  {
    std::ofstream(pattern + "/" + codegen::prelude_name(codegen::Language::host)) << "// text\n";
  }
  std::string one = toolchain_key(host, with);
  EXPECT_NE(bare, one);
  {
    std::ofstream(pattern + "/included_by_it.h") << "// more\n";
  }
  EXPECT_NE(one, toolchain_key(host, with));
  Options other = options();
  other.cxx = "no-such-compiler";
  EXPECT_NE(toolchain_key(host, options()), toolchain_key(host, other));
  std::filesystem::remove_all(pattern);
}

}  // namespace
}  // namespace cudaagent::jit
