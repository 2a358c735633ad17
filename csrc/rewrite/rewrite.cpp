#include "rewrite/rewrite.h"

#include <array>

#include "rewrite/decompose.h"
#include "rewrite/passes.h"
#include "rewrite/registry.h"

namespace cudaagent::rewrite {

namespace {

struct Pass {
  const char* name;
  int (*run)(ir::Graph&);
};

// Conversions are elided before duplicates are merged: a merged conversion serves several captured nodes, and then
// the rounded half is the value they share.
constexpr std::array<Pass, 7> passes = {{
    {"elide_conversions", elide_conversions},
    {"merge_conversions", merge_conversions},
    {"drop_copies", drop_copies},
    {"fold_constants", fold_constants},
    {"cancel_views", cancel_views},
    {"merge_duplicates", merge_duplicates},
    {"remove_dead", remove_dead},
}};

}  // namespace

Result rewrite(const ir::Graph& captured, const Options&, const std::map<std::int32_t, std::string>& keep) {
  Result result;
  decompose(captured, keep, result);
  for (const Pass& pass : passes) {
    const int count = pass.run(result.graph);
    if (count > 0) result.fired.push_back({pass.name, pass.name, count});
  }
  ir::check(result.graph);
  return result;
}

std::vector<std::string> covered_operators() {
  std::vector<std::string> names;
  for (const auto& [name, rule] : registry().rules()) names.push_back(name);
  return names;
}

}  // namespace cudaagent::rewrite
