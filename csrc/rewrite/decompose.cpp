#include "rewrite/decompose.h"

#include <algorithm>

#include "ir/prims.h"
#include "rewrite/registry.h"

namespace cudaagent::rewrite {

namespace {

class Decomposer {
 public:
  Decomposer(const ir::Graph& captured, const std::map<std::int32_t, std::string>& keep, Result& result)
      : captured_(captured), keep_(keep), result_(result), map_(captured.values.size(), ir::no_value) {}

  void run() {
    ir::Graph& graph = result_.graph;
    for (const ir::Input& input : captured_.inputs) {
      graph.inputs.push_back(input);
      graph.inputs.back().value = take(input.value);
    }
    for (std::size_t n = 0; n < captured_.nodes.size(); ++n) visit(static_cast<std::int32_t>(n));
    for (ir::Output output : captured_.outputs) {
      output.value = mapped(output.value);
      output.alias_of = mapped(output.alias_of);
      graph.outputs.push_back(std::move(output));
    }
    for (const ir::Mutation& mutation : captured_.mutations) {
      graph.mutations.push_back({mapped(mutation.input), mapped(mutation.value)});
    }
    for (const auto& [op, count] : counts_) result_.fired.push_back({"decompose", op, count});
  }

 private:
  ir::ValueId mapped(ir::ValueId id) const { return id == ir::no_value ? id : map_.at(static_cast<std::size_t>(id)); }

  /// A captured value that enters the new graph as it is.
  ir::ValueId take(ir::ValueId id) {
    ir::Value value = captured_.values.at(static_cast<std::size_t>(id));
    value.origin = id;
    return map_.at(static_cast<std::size_t>(id)) = result_.graph.add_value(std::move(value));
  }

  void visit(std::int32_t n) {
    const ir::Node& node = captured_.nodes[static_cast<std::size_t>(n)];
    std::string why = objection(n, node);
    if (why.empty()) why = rewrite(n, node);
    if (why.empty()) {
      ++counts_[node.op];
      return;
    }
    result_.left.emplace_back(n, std::move(why));
    keep_extern(n, node);
  }

  /// Why no rule may be tried.
  std::string objection(std::int32_t n, const ir::Node& node) const {
    if (const auto it = keep_.find(n); it != keep_.end()) return it->second;
    if (!registry().find(node.op)) return "no template for " + node.op;
    std::vector<ir::ValueId> values = references(node.args);
    values.insert(values.end(), node.outputs.begin(), node.outputs.end());
    const TensorType* first = nullptr;
    for (const ir::ValueId id : values) {
      if (id == ir::no_value) continue;
      const TensorType& type = captured_.type(id);
      if (!is_generated(type.dtype)) return dtype_name(type.dtype);
      if (first && !(first->device == type.device)) return "tensors on several devices";
      first = &type;
    }
    const bool makes =
        std::any_of(node.outputs.begin(), node.outputs.end(), [](auto id) { return id != ir::no_value; });
    return makes ? "" : "no output in use";
  }

  std::string rewrite(std::int32_t n, const ir::Node& node) {
    ir::Graph& graph = result_.graph;
    const std::size_t nodes = graph.nodes.size(), values = graph.values.size();
    const auto made =
        std::find_if(node.outputs.begin(), node.outputs.end(), [](auto id) { return id != ir::no_value; });
    Builder builder(graph, n, captured_.type(*made).device);
    (*registry().find(node.op))(builder, Call(captured_, node, map_, builder));
    std::string why = builder.refusal();
    for (const ir::ValueId id : node.outputs) {
      if (why.empty() && id != ir::no_value && mapped(id) == ir::no_value) why = "an output no template makes";
    }
    if (why.empty()) return why;
    graph.nodes.resize(nodes);
    graph.values.resize(values);
    for (const ir::ValueId id : node.outputs) {
      if (id != ir::no_value) map_.at(static_cast<std::size_t>(id)) = ir::no_value;
    }
    return why;
  }

  void keep_extern(std::int32_t n, const ir::Node& node) {
    ir::Node copy = node;
    copy.args = remap_references(node.args, map_);
    copy.origin = n;
    for (ir::ValueId& output : copy.outputs) {
      if (output != ir::no_value) output = take(output);
    }
    result_.graph.nodes.push_back(std::move(copy));
  }

  const ir::Graph& captured_;
  const std::map<std::int32_t, std::string>& keep_;
  Result& result_;
  std::vector<ir::ValueId> map_;
  std::map<std::string, int> counts_;
};

}  // namespace

void decompose(const ir::Graph& captured, const std::map<std::int32_t, std::string>& keep, Result& result) {
  Decomposer(captured, keep, result).run();
}

}  // namespace cudaagent::rewrite
