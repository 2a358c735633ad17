#include <algorithm>

#include "codegen/registry.h"

namespace cudaagent::codegen {

namespace {

/// Raised by hand when a template or a prelude changes what it generates.
constexpr const char* generator_version = "codegen-6";

/// Templates of the target's language that carry the body, most suitable first; ties keep the registry's order.
std::vector<const Template*> ranked(const schedule::Body& body, const Target& target) {
  std::vector<std::pair<int, const Template*>> scored;
  for (const Template& entry : templates()) {
    if (entry.language != target.language) continue;
    if (const int score = entry.suits(body, target); score > 0) scored.emplace_back(score, &entry);
  }
  std::stable_sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<const Template*> result;
  for (const auto& [score, entry] : scored) result.push_back(entry);
  return result;
}

}  // namespace

std::vector<std::string> legal_templates(const schedule::Body& body, const Target& target) {
  std::vector<std::string> names;
  for (const Template* entry : ranked(body, target)) names.push_back(entry->name);
  return names;
}

Candidate choose(const schedule::Body& body, const Target& target) {
  const std::vector<const Template*> best = ranked(body, target);
  if (best.empty()) throw InternalError("no template carries the body");
  return {best.front()->name, best.front()->defaults(body, target)};
}

std::vector<Candidate> candidates(const schedule::Body& body, const Target& target, std::size_t most) {
  std::vector<Candidate> result;
  const auto add = [&](Candidate candidate) {
    if (result.size() < most && std::find(result.begin(), result.end(), candidate) == result.end())
      result.push_back(std::move(candidate));
  };
  const std::vector<const Template*> best = ranked(body, target);
  for (const Template* entry : best) add({entry->name, entry->defaults(body, target)});
  for (const Template* entry : best)
    for (auto& params : entry->variants(body, target)) add({entry->name, std::move(params)});
  return result;
}

Outcome<Source> generate(const schedule::Body& body, const Candidate& candidate, const Target& target,
                         const std::string& name) {
  for (const Template& entry : templates()) {
    if (entry.language != target.language || entry.name != candidate.template_name) continue;
    if (entry.suits(body, target) <= 0)
      return Rejection{"codegen", "template " + entry.name + " cannot carry this body", ""};
    std::map<std::string, std::int64_t> params = entry.defaults(body, target);
    for (const auto& [key, value] : candidate.params) {
      if (!params.contains(key)) return Rejection{"codegen", "template " + entry.name + " has no parameter " + key, ""};
      params[key] = value;
    }
    return entry.generate(body, params, target, name);
  }
  return Rejection{"codegen", "no template named " + candidate.template_name, ""};
}

std::string prelude_name(Language language) {
  return language == Language::cuda ? "cudaagent_cuda.cuh" : "cudaagent_host.h";
}

std::string version() { return generator_version; }

}  // namespace cudaagent::codegen
