#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/options.h"

namespace cudaagent {
namespace {

std::string message_of(const Json& json) {
  try {
    options_from_json(json);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

/// Sets a variable for a scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before, had_ = true;
    setenv(name, value, 1);
  }
  ~Variable() { had_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::string before_;
  bool had_ = false;
};

TEST(Options, RoundTrip) {
  const Json json = {{"precision", "medium"},
                     {"verify", false},
                     {"assume_finite", true},
                     {"freeze", true},
                     {"seed", 7},
                     {"cache_dir", "c"},
                     {"cache_layers", {"a", "b"}},
                     {"cxx", "clang++"},
                     {"verify_timeout_s", 2},
                     {"cuda_arch", "sm_90a"},
                     {"dump_dir", "d"}};
  const Options options = options_from_json(json);
  EXPECT_EQ(options.precision, Precision::medium);
  EXPECT_FALSE(options.verify);
  EXPECT_EQ(options.cache_layers, (std::vector<std::string>{"a", "b"}));
  const Json again = options;
  for (const auto& [key, value] : json.items()) EXPECT_EQ(again.at(key), value) << key;
  EXPECT_EQ(Json(options_from_json(again)), again);
}

TEST(Options, UnknownKeyNamesTheKnownOnes) {
  const std::string message = message_of({{"presision", "high"}});
  EXPECT_NE(message.find("'presision'"), std::string::npos);
  for (const char* key : {"precision", "cache_dir", "verify_timeout_s"})
    EXPECT_NE(message.find(key), std::string::npos);
}

TEST(Options, BadValuesNameTheRemedy) {
  EXPECT_NE(message_of({{"precision", "fp8"}}).find("highest"), std::string::npos);
  EXPECT_NE(message_of({{"verify", "yes"}}).find("'verify'"), std::string::npos);
  EXPECT_NE(message_of({{"verify_timeout_s", 0}}).find("above 0"), std::string::npos);
  EXPECT_NE(message_of(Json::array()).find("object"), std::string::npos);
}

TEST(Options, EnvironmentFillsWhatIsAbsent) {
  const Variable cache("TORCH_CUDAAGENT_CACHE_DIR", "from-environment");
  const Variable cxx("TORCH_CUDAAGENT_CXX", "c++");
  EXPECT_EQ(options_from_json(Json::object()).cache_dir, "from-environment");
  EXPECT_EQ(options_from_json(Json::object()).cxx, "c++");
  EXPECT_EQ(options_from_json({{"cache_dir", ""}}).cache_dir, "");
}

TEST(ChildEnvironment, CarriesNoSecrets) {
  const Variable secret("HF_TOKEN", "secret");
  const Variable visible("CUDA_VISIBLE_DEVICES", "1");
  const std::vector<std::string> variables = child_environment();
  const auto has = [&](const std::string& prefix) {
    return std::any_of(variables.begin(), variables.end(), [&](const auto& v) { return v.rfind(prefix, 0) == 0; });
  };
  EXPECT_FALSE(has("HF_TOKEN"));
  EXPECT_FALSE(has("HOME="));
  EXPECT_TRUE(has("CUDA_VISIBLE_DEVICES=1"));
}

}  // namespace
}  // namespace cudaagent
