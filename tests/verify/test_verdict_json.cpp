#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "verify/verify.h"

namespace cudaagent::verify {
namespace {

TEST(VerdictJson, RoundTrip) {
  Verdict verdict;
  verdict.status = Status::failed;
  verdict.reason = "normal inputs: wrong";
  verdict.families.push_back({"normal", 1e-7, std::numeric_limits<double>::infinity(), 3, 4, 5, 6, "wrong"});
  verdict.kernel_us = 1.5;
  verdict.eager_us = 2.5;
  const Json json = verdict;
  const auto back = Json::parse(json.dump()).get<Verdict>();
  EXPECT_EQ(Json(back), json);
  EXPECT_EQ(back.status, Status::failed);
  EXPECT_EQ(back.families.at(0).max, std::numeric_limits<double>::infinity());
}

TEST(VerdictJson, UnknownStatusIsAUserError) {
  Json json = Verdict{};
  json["status"] = "perfect";
  EXPECT_THROW(json.get<Verdict>(), UserError);
}

}  // namespace
}  // namespace cudaagent::verify
