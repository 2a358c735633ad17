#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cache/cache.h"

namespace cudaagent::cache {

/// A folder of its own for every test, and the log collected.
class CacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path().string() + "/cache-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    set_log_sink([this](LogLevel, const std::string& line) { logged.push_back(line); });
  }
  void TearDown() override {
    set_log_sink(nullptr);
    std::filesystem::remove_all(folder);
  }
  Store store() { return Store(folder + "/store", {}); }

  static Key make_key(const std::string& value, Kind kind = Kind::record) {
    Key key;
    key.kind = kind;
    key.fields = {{"region", value}, {"arch", "sm_90a"}};
    return key;
  }
  static std::string only_file(const std::string& root) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (!entry.is_directory()) files.push_back(entry.path().string());
    }
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? "" : files[0];
  }
  static std::string slurp(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  static void spill(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::string folder;
  std::vector<std::string> logged;
};

}  // namespace cudaagent::cache
