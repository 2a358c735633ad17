#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "verify/verify.h"

namespace cudaagent::verify {

namespace {

constexpr std::array<const char*, 4> status_names = {"passed", "failed", "mistrusted", "untested"};

/// JSON has no infinity; an error that large is written as null.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

double number_from(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::infinity() : json.get<double>();
}

Json family_to_json(const FamilyResult& result) {
  return {{"family", result.family},
          {"kernel", {number(result.rms), number(result.max), number(result.row)}},
          {"eager", {number(result.eager_rms), number(result.eager_max), number(result.eager_row)}},
          {"failure", result.failure}};
}

FamilyResult family_from_json(const Json& json) {
  const Json &kernel = json.at("kernel"), &eager = json.at("eager");
  return {json.at("family").get<std::string>(),
          number_from(kernel.at(0)),
          number_from(kernel.at(1)),
          number_from(kernel.at(2)),
          number_from(eager.at(0)),
          number_from(eager.at(1)),
          number_from(eager.at(2)),
          json.at("failure").get<std::string>()};
}

Status status_from(const std::string& name) {
  for (std::size_t i = 0; i < status_names.size(); ++i) {
    if (name == status_names[i]) return static_cast<Status>(i);
  }
  throw UserError("'" + name + "' is not a verdict: remove the cache entry that holds it");
}

}  // namespace

void to_json(Json& json, const Verdict& verdict) {
  Json families = Json::array();
  for (const FamilyResult& result : verdict.families) families.push_back(family_to_json(result));
  json = Json{{"status", status_names.at(static_cast<std::size_t>(verdict.status))},
              {"reason", verdict.reason},
              {"families", std::move(families)},
              {"kernel_us", verdict.kernel_us},
              {"eager_us", verdict.eager_us}};
}

void from_json(const Json& json, Verdict& verdict) {
  verdict.status = status_from(json.at("status").get<std::string>());
  verdict.reason = json.at("reason").get<std::string>();
  verdict.families.clear();
  for (const Json& family : json.at("families")) verdict.families.push_back(family_from_json(family));
  verdict.kernel_us = json.at("kernel_us").get<double>();
  verdict.eager_us = json.at("eager_us").get<double>();
}

}  // namespace cudaagent::verify
