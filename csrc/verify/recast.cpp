#include "verify/recast.h"

#include <algorithm>
#include <array>

namespace cudaagent::verify {

namespace {

bool has_float_dtype(const Arg& arg) { return arg.is<DType>() && is_float(arg.as<DType>()); }

void recast_arg(Arg& arg, DType to) {
  if (has_float_dtype(arg)) arg.v = to;
  if (arg.is<ArgList>()) {
    for (Arg& item : std::get<ArgList>(arg.v)) recast_arg(item, to);
  }
}

bool starts_with(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }

class Recast {
 public:
  Recast(const ir::Graph& graph, DType to) : graph_(graph), to_(to), out_(graph) {}

  ir::Graph make() {
    out_.nodes.clear();
    for (ir::Value& value : out_.values) {
      if (is_float(value.type.dtype)) value.type.dtype = to_;
    }
    for (const ir::Node& node : graph_.nodes) {
      ir::Node copy = node;
      if (promotes_integers(node)) convert_operands(copy);
      for (NamedArg& arg : copy.args) recast_arg(arg.value, to_);
      out_.nodes.push_back(std::move(copy));
    }
    return std::move(out_);
  }

 private:
  /// A float result from integer operands alone, of a dtype nobody named. A condition's branches are numbers, which
  /// stay as torch rounds them.
  bool promotes_integers(const ir::Node& node) const {
    if (node.outputs.empty() || node.outputs[0] == ir::no_value || !is_float(graph_.type(node.outputs[0]).dtype))
      return false;
    if (starts_with(node.op, "aten::where") || node.op.find("_like") != std::string::npos ||
        starts_with(node.op, "aten::new_")) {
      return false;
    }
    const auto named = [](const NamedArg& arg) { return has_float_dtype(arg.value); };
    if (std::any_of(node.args.begin(), node.args.end(), named)) return false;
    const std::vector<std::int32_t> operands = references(node.args);
    return !operands.empty() && std::none_of(operands.begin(), operands.end(),
                                             [&](std::int32_t id) { return is_float(graph_.type(id).dtype); });
  }

  void convert_operands(ir::Node& node) {
    for (NamedArg& arg : node.args) {
      if (!arg.value.is<Ref>()) continue;
      ir::Value wide = graph_.values.at(static_cast<std::size_t>(arg.value.as<Ref>().id));
      wide.type.dtype = to_;
      const ir::ValueId id = out_.add_value(std::move(wide));
      out_.nodes.push_back({"aten::_to_copy", {{"self", arg.value}, {"dtype", {to_}}}, {id}, node.origin, false});
      arg.value = {Ref{id}};
    }
  }

  const ir::Graph& graph_;
  DType to_;
  ir::Graph out_;
};

}  // namespace

ir::Graph recast(const ir::Graph& graph, DType to) { return Recast(graph, to).make(); }

bool multiplies_matrices(const ir::Graph& graph) {
  constexpr std::array<const char*, 9> ops = {"aten::mm",      "aten::addmm",        "aten::bmm",
                                              "aten::baddbmm", "aten::matmul",       "aten::linear",
                                              "aten::conv",    "aten::_convolution", "aten::scaled_dot"};
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const ir::Node& node) {
    return std::any_of(ops.begin(), ops.end(), [&](const char* op) { return starts_with(node.op, op); });
  });
}

}  // namespace cudaagent::verify
