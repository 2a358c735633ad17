#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "jit/device.h"
#include "jit/driver_handles.h"
#include "jit/jit.h"

namespace cudaagent::jit {
namespace {

TEST(Driver, AbsenceIsExplainedOnce) {
  if (driver()) GTEST_SKIP() << "this machine has a driver";
  EXPECT_NE(driver_absence(), "");
  try {
    require_driver();
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("CPU"), std::string::npos) << error.what();
  }
}

TEST(Driver, WithoutOneCudaModulesAndLaunchesAreRejected) {
  if (driver()) GTEST_SKIP() << "this machine has a driver";
  Binary binary;
  binary.language = codegen::Language::cuda;
  EXPECT_FALSE(load(binary, Device{DeviceType::cuda, 0}).ok());
  EXPECT_FALSE(launch_cuda(nullptr, {}, nullptr, nullptr).ok());
  EXPECT_FALSE(zero_cuda(nullptr, 16, nullptr).ok());
}

TEST(Driver, FailedCheckNamesCallErrorAndLine) {
  EXPECT_NO_THROW(check_driver(cu::success, "cuInit(0)", "a/b.cpp", 7));
  try {
    check_driver(1, "cuInit(0)", "a/b.cpp", 7);
    FAIL();
  } catch (const InternalError& error) {
    std::string text = error.what();
    EXPECT_NE(text.find("b.cpp:7"), std::string::npos) << text;
    EXPECT_NE(text.find("cuInit(0)"), std::string::npos) << text;
    EXPECT_EQ(text.find("a/"), std::string::npos) << text;
  }
  EXPECT_EQ(driver_rejection(1, "call").stage, "jit");
}

TEST(Driver, LaunchStructsMatchTheDriversLayout) {
  EXPECT_EQ(sizeof(LaunchAttribute), 72u);
  EXPECT_EQ(offsetof(LaunchAttribute, value), 8u);
  EXPECT_EQ(sizeof(LaunchConfig), 56u);
  EXPECT_EQ(offsetof(LaunchConfig, stream), 32u);
  EXPECT_EQ(offsetof(LaunchConfig, attributes), 40u);
}

/// Compiles for the first device; needs a driver and NVRTC (CUDAAGENT_NVRTC).
class DriverOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!driver()) GTEST_SKIP() << driver_absence();
    if (const char* path = getenv("CUDAAGENT_NVRTC")) options_.nvrtc_path = path;
    context_.emplace(0);
    current_.emplace(*context_);
    memory_ = allocate_device(bytes);
  }
  std::unique_ptr<Module> build(const std::string& text) {
    codegen::Source source;
    source.language = codegen::Language::cuda;
    source.text = text;
    codegen::Target target;
    target.language = codegen::Language::cuda;
    target.arch = device_arch(0);
    auto binary = compile(source, target, options_);
    EXPECT_TRUE(binary.ok()) << binary.rejection().log;
    auto module = load(binary.value(), Device{DeviceType::cuda, 0});
    EXPECT_TRUE(module.ok()) << module.rejection().reason;
    return std::move(module.value());
  }
  std::vector<int> contents() {
    std::vector<int> host(bytes / sizeof(int));
    CUDAAGENT_CHECK(require_driver().context_synchronize());
    CUDAAGENT_CHECK(require_driver().copy_to_host(host.data(), memory_.get(), bytes));
    return host;
  }

  static constexpr std::size_t bytes = 1024 * sizeof(int);
  Options options_;
  std::optional<PrimaryContext> context_;
  std::optional<ScopedContext> current_;
  DeviceMemory memory_;
};

TEST_F(DriverOnGpu, KernelSeesArgumentsSharedMemoryAndCluster) {
  auto module = build(R"(
extern "C" __global__ void fill(int* out, const int* unused) {
  extern __shared__ int tile[];
  tile[20000 + threadIdx.x] = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[20000 + threadIdx.x] + 1;
})");
  codegen::Launch launch;
  launch.kernel = "fill";
  launch.grid[0] = 4;
  launch.block[0] = 256;
  launch.shared_bytes = 21000 * 4;  // above the 48 KiB every kernel may have
  launch.args.resize(2);
  int major = 0;
  CUDAAGENT_CHECK(require_driver().device_attribute(&major, cu::attribute_compute_major, context_->device()));
  if (major >= 9) launch.cluster = 2;
  void* pointers[] = {reinterpret_cast<void*>(memory_.get()), nullptr};
  Stream stream = make_stream();
  auto launched = launch_cuda(module->kernel("fill"), launch, pointers, stream.get());
  ASSERT_TRUE(launched.ok()) << launched.rejection().reason;
  auto got = contents();
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(got[static_cast<std::size_t>(i)], i + 1);
}

TEST_F(DriverOnGpu, DependentLaunchesKeepTheirOrder) {
  auto module = build(R"(
extern "C" __global__ void step(int* out) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  out[threadIdx.x] = 3 * out[threadIdx.x] + 1;
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
})");
  codegen::Launch launch;
  launch.block[0] = 1024;
  launch.args.resize(1);
  launch.pdl = true;
  Stream stream = make_stream();
  void* pointers[] = {reinterpret_cast<void*>(memory_.get())};
  ASSERT_TRUE(zero_cuda(pointers[0], bytes, stream.get()).ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(launch_cuda(module->kernel("step"), launch, pointers, stream.get()).ok());
  for (int value : contents()) ASSERT_EQ(value, 29524);  // (3^10 - 1) / 2
}

TEST_F(DriverOnGpu, RefusedLaunchIsARejectionWithTheDriversName) {
  auto module = build("extern \"C\" __global__ void k(int* out) { *out = 1; }");
  codegen::Launch launch;
  launch.block[0] = 4096;
  launch.args.resize(1);
  void* pointers[] = {reinterpret_cast<void*>(memory_.get())};
  auto launched = launch_cuda(module->kernel("k"), launch, pointers, nullptr);
  ASSERT_FALSE(launched.ok());
  EXPECT_NE(launched.rejection().reason.find("CUDA_ERROR_INVALID_VALUE"), std::string::npos)
      << launched.rejection().reason;
  EXPECT_THROW(module->kernel("absent"), InternalError);
  launch.grid[0] = 0;
  EXPECT_TRUE(launch_cuda(module->kernel("k"), launch, pointers, nullptr).ok());
}

TEST_F(DriverOnGpu, EventsMeasure) {
  Stream stream = make_stream();
  Event start = make_event(), end = make_event();
  CUDAAGENT_CHECK(require_driver().event_record(start.get(), stream.get()));
  ASSERT_TRUE(zero_cuda(reinterpret_cast<void*>(memory_.get()), bytes, stream.get()).ok());
  CUDAAGENT_CHECK(require_driver().event_record(end.get(), stream.get()));
  EXPECT_GT(elapsed_us(start, end), 0);
}

TEST(Survey, MissingThingsAreNull) {
  Options options;
  options.cxx = "no-such-compiler";
  options.nvrtc_path = "/nonexistent/libnvrtc.so.13";
  std::string text = survey(options).dump();
  EXPECT_NE(text.find("\"host_compiler\":null"), std::string::npos) << text;
  EXPECT_NE(text.find("\"nvrtc\":null"), std::string::npos) << text;
}

}  // namespace
}  // namespace cudaagent::jit
