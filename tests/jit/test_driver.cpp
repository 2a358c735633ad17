#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

TEST(Driver, CudaKernelRuns) {
  if (!driver()) GTEST_SKIP() << driver_absence();
  PrimaryContext context(0);
  ScopedContext current(context);
  DeviceMemory memory = allocate_device(64);
  Stream stream = make_stream();
  ASSERT_TRUE(zero_cuda(reinterpret_cast<void*>(memory.get()), 64, stream.get()).ok());
  CUDAAGENT_CHECK(require_driver().stream_synchronize(stream.get()));
  unsigned char bytes[64];
  CUDAAGENT_CHECK(require_driver().copy_to_host(bytes, memory.get(), 64));
  for (unsigned char byte : bytes) EXPECT_EQ(byte, 0);
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
