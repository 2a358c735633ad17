#include "rewrite/registry.h"

namespace cudaagent::rewrite {

void Registry::add(std::initializer_list<const char*> names, const Rule& rule) {
  for (const char* name : names) {
    if (!rules_.emplace(std::string("aten::") + name, rule).second) {
      throw InternalError(std::string("two decompositions of ") + name);
    }
  }
}

const Rule* Registry::find(const std::string& op) const {
  constexpr std::string_view suffix = ".default";
  const bool plain = op.size() > suffix.size() && op.compare(op.size() - suffix.size(), suffix.size(), suffix) == 0;
  const auto it = rules_.find(plain ? op.substr(0, op.size() - suffix.size()) : op);
  return it == rules_.end() ? nullptr : &it->second;
}

const Registry& registry() {
  static const Registry all = [] {
    Registry registry;
    for (const auto add : {add_unary,        add_binary,      add_ternary,     add_activations, add_backward,
                           add_selection,    add_conversions, add_reductions,  add_statistics,  add_vector_norms,
                           add_softmax,      add_norms,       add_batch_norms, add_losses,      add_distance_losses,
                           add_class_losses, add_shapes,      add_slices,      add_repeats,     add_creation}) {
      add(registry);
    }
    return registry;
  }();
  return all;
}

}  // namespace cudaagent::rewrite
