#include <limits>
#include <unordered_set>

#include "ir/check_prim.h"
#include "ir/ir.h"
#include "ir/prims.h"

namespace cudaagent::ir {

namespace {

void require(bool holds, const std::string& message) {
  if (!holds) throw InternalError("graph: " + message);
}

std::string name_of(ValueId id) { return "%" + std::to_string(id); }

void check_type(const TensorType& type, const std::string& where) {
  require(type.dims.size() == type.strides.size(), where + " has as many strides as dims");
  std::int64_t count = 1, reach = 1;
  for (std::size_t i = 0; i < type.dims.size(); ++i) {
    require(type.dims[i] >= 0 && type.strides[i] >= 0, where + " has no negative dim or stride");
    if (type.dims[i] == 0) return;
    std::int64_t step = 0;
    require(!__builtin_mul_overflow(count, type.dims[i], &count), where + " has fewer than 2^63 elements");
    require(!__builtin_mul_overflow(type.dims[i] - 1, type.strides[i], &step) &&
                !__builtin_add_overflow(reach, step, &reach) && reach < std::numeric_limits<std::int64_t>::max() / 16,
            where + " spans fewer than 2^59 elements");
  }
}

class Checker {
 public:
  explicit Checker(const Graph& graph) : graph_(graph), defined_(graph.values.size(), false) {}

  void run() {
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.values[v];
      check_type(value.type, name_of(static_cast<ValueId>(v)));
      require(value.range_lo <= value.range_hi, name_of(static_cast<ValueId>(v)) + " has an ordered range");
    }
    for (const Input& input : graph_.inputs) {
      define(input.value, "input " + name_of(input.value));
      inputs_.insert(input.value);
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) check_node(graph_.nodes[n], n);
    check_ends();
  }

 private:
  void in_range(ValueId id, const std::string& where) const {
    require(id >= 0 && static_cast<std::size_t>(id) < defined_.size(), where + " names an existing value");
  }
  void use(ValueId id, const std::string& where) const {
    in_range(id, where);
    require(defined_[static_cast<std::size_t>(id)], where + " reads " + name_of(id) + " after its definition");
  }
  void define(ValueId id, const std::string& where) {
    in_range(id, where);
    require(!defined_[static_cast<std::size_t>(id)], where + ": " + name_of(id) + " has one producer");
    defined_[static_cast<std::size_t>(id)] = true;
  }

  void check_node(const Node& node, std::size_t index) {
    const std::string where = "node " + std::to_string(index) + " (" + node.op + ")";
    require(node.op.find("::") != std::string::npos, where + " has a namespaced operator");
    std::unordered_set<std::string> names;
    for (const NamedArg& arg : node.args) {
      require(!arg.name.empty() && names.insert(arg.name).second, where + " names each argument once");
    }
    for (const ValueId id : references(node.args)) use(id, where);
    for (const ValueId id : node.outputs) {
      if (id != no_value) define(id, where);
    }
    if (is_prim(node.op)) check_prim(graph_, node, where);
  }

  void check_ends() const {
    for (const Output& output : graph_.outputs) {
      if (output.value != no_value) use(output.value, "output");
      require(output.alias_of == no_value || inputs_.count(output.alias_of), "an output aliases an input or nothing");
    }
    std::unordered_set<ValueId> mutated;
    for (const Mutation& mutation : graph_.mutations) {
      const std::string where = "mutation of " + name_of(mutation.input);
      use(mutation.value, where);
      require(inputs_.count(mutation.input) == 1, where + " is of an input");
      require(mutated.insert(mutation.input).second, where + " happens once");
      require(graph_.type(mutation.input).dims == graph_.type(mutation.value).dims &&
                  graph_.type(mutation.input).dtype == graph_.type(mutation.value).dtype,
              where + " keeps dtype and dims");
    }
  }

  const Graph& graph_;
  std::vector<bool> defined_;
  std::unordered_set<ValueId> inputs_;
};

}  // namespace

void check(const Graph& graph) { Checker(graph).run(); }

}  // namespace cudaagent::ir
