#include "schedule/naming.h"

#include <algorithm>
#include <vector>

namespace cudaagent::schedule {

namespace {

constexpr std::size_t most_functions = 3;
constexpr std::size_t most_characters = 60;
constexpr std::size_t fingerprint_digits = 8;

struct Function {
  std::string name;
  int weight;
  std::size_t position;
};

std::vector<Function> functions_of(const Body& body) {
  std::vector<Function> functions;
  for (std::size_t i = 0; i < body.insts.size(); ++i) {
    const Inst& inst = body.insts[i];
    std::string name;
    int weight = 0;
    if (inst.kind == InstKind::reduce) {
      name = ir::reduce_kind_name(inst.reduce);
      weight = 1000;
    } else if (inst.kind == InstKind::map && inst.fn != "convert") {
      name = inst.fn;
      const ir::MapFn* fn = ir::find_map_fn(inst.fn);
      weight = fn ? fn->cost : 1;
    } else {
      continue;
    }
    const auto known =
        std::find_if(functions.begin(), functions.end(), [&](const Function& f) { return f.name == name; });
    if (known == functions.end()) functions.push_back({name, weight, i});
  }
  return functions;
}

/// The walk a reader of a profile wants to know: along rows, down columns, or over everything.
std::string walk_of(const Body& body) {
  if (!body.has_reduction()) return "map";
  if (body.kept() == 1) return "all";
  for (const Inst& inst : body.insts) {
    if (inst.kind != InstKind::load || !inst.element) continue;
    return std::abs(inst.access.strides.back()) == 1 ? "rows" : "columns";
  }
  return "rows";
}

/// Well-known compounds by the functions they are made of.
std::string compound_of(const std::vector<Function>& functions, std::int32_t stages) {
  const auto has = [&](const char* name) {
    return std::any_of(functions.begin(), functions.end(), [&](const Function& f) { return f.name == name; });
  };
  if (stages >= 3 && has("max") && has("exp") && has("sum")) return has("log") ? "log_softmax" : "softmax";
  if (stages >= 3 && has("sum") && has("rsqrt")) return "norm";
  return "";
}

}  // namespace

std::string kernel_name(const Body& body, const std::string& fingerprint) {
  std::vector<Function> functions = functions_of(body);
  std::string name = "ca_" + walk_of(body);
  const std::string compound = compound_of(functions, body.stages);
  if (!compound.empty()) {
    name += "_" + compound;
  } else {
    std::stable_sort(functions.begin(), functions.end(),
                     [](const Function& a, const Function& b) { return a.weight > b.weight; });
    functions.resize(std::min(functions.size(), most_functions));
    std::sort(functions.begin(), functions.end(),
              [](const Function& a, const Function& b) { return a.position < b.position; });
    for (const Function& function : functions) name += "_" + function.name;
    if (functions.empty()) name += "_copy";
  }
  name.resize(std::min(name.size(), most_characters - fingerprint_digits - 1));
  return name + "_" + fingerprint.substr(0, fingerprint_digits);
}

}  // namespace cudaagent::schedule
