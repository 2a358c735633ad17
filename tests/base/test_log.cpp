#include <gtest/gtest.h>

#include <vector>

#include "base/log.h"

namespace cudaagent {
namespace {

TEST(Log, SinkGetsWhatTheLevelLetsThrough) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, const std::string& line) { lines.push_back(line); });
  log(LogLevel::error, "broken");
  log(LogLevel::off, "never");
  if (log_level() < LogLevel::debug) log(LogLevel::debug, "too fine");
  set_log_sink(nullptr);
  EXPECT_EQ(lines.size(), log_level() >= LogLevel::error ? 1u : 0u);
}

}  // namespace
}  // namespace cudaagent
