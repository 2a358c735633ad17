// Which ATen operators become primitives: one rule per operator, gathered from the decompose_*.cpp files.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>

#include "rewrite/call.h"

namespace cudaagent::rewrite {

/// Writes the primitives of one node and yields its outputs, or refuses.
using Rule = std::function<void(Builder&, const Call&)>;

class Registry {
 public:
  /// Names carry their overload but never ".default": "add.Tensor", "relu". They live in the namespace aten.
  void add(std::initializer_list<const char*> names, const Rule& rule);
  const Rule* find(const std::string& op) const;  ///< of "aten::relu" or "aten::relu.default"
  const std::map<std::string, Rule>& rules() const { return rules_; }

 private:
  std::map<std::string, Rule> rules_;
};

const Registry& registry();

void add_unary(Registry& registry);
void add_binary(Registry& registry);
void add_ternary(Registry& registry);
void add_activations(Registry& registry);
void add_backward(Registry& registry);
void add_selection(Registry& registry);
void add_conversions(Registry& registry);
void add_reductions(Registry& registry);
void add_statistics(Registry& registry);
void add_vector_norms(Registry& registry);
void add_softmax(Registry& registry);
void add_norms(Registry& registry);
void add_batch_norms(Registry& registry);
void add_losses(Registry& registry);
void add_distance_losses(Registry& registry);
void add_class_losses(Registry& registry);
void add_shapes(Registry& registry);
void add_slices(Registry& registry);
void add_repeats(Registry& registry);
void add_creation(Registry& registry);

}  // namespace cudaagent::rewrite
