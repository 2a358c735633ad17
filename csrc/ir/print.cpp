#include <charconv>
#include <cmath>

#include "ir/ir.h"

namespace cudaagent::ir {

namespace {

std::string join(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return text;
}

std::string number(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  // A float is told from an integer by its point.
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string list(const ArgList& items) {
  std::string text;
  for (const Arg& item : items) text += (text.empty() ? "" : ", ") + print_arg(item);
  return "[" + text + "]";
}

struct Printer {
  std::string operator()(const None&) const { return "None"; }
  std::string operator()(const Ref& ref) const { return "%" + std::to_string(ref.id); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return number(value); }
  std::string operator()(const Complex& value) const { return "(" + number(value.re) + ", " + number(value.im) + "j)"; }
  std::string operator()(const std::string& value) const { return "\"" + value + "\""; }
  std::string operator()(DType value) const { return dtype_short_name(value); }
  std::string operator()(const Device& value) const { return device_name(value); }
  std::string operator()(const Layout& value) const { return value.name; }
  std::string operator()(const MemoryFormat& value) const { return value.name; }
  std::string operator()(const ArgList& items) const { return list(items); }
};

std::string print_value(const Graph& graph, ValueId id) {
  return id == no_value ? "_" : "%" + std::to_string(id) + ": " + print_type(graph.type(id));
}

std::string print_node(const Graph& graph, const Node& node) {
  std::string outputs;
  for (const ValueId id : node.outputs) outputs += (outputs.empty() ? "" : ", ") + print_value(graph, id);
  std::string args;
  for (const NamedArg& arg : node.args) {
    if (!args.empty()) args += ", ";
    args += arg.value.is<Ref>() ? print_arg(arg.value) : arg.name + "=" + print_arg(arg.value);
  }
  return outputs + " = " + node.op + "(" + args + ")";
}

const char* kind_name(InputKind kind) {
  switch (kind) {
    case InputKind::user:
      return "input";
    case InputKind::parameter:
      return "parameter";
    case InputKind::buffer:
      return "buffer";
    case InputKind::constant:
      return "constant";
  }
  throw InternalError("print: not an input kind");
}

}  // namespace

std::string print_arg(const Arg& arg) { return std::visit(Printer{}, arg.v); }

std::string print_type(const TensorType& type) {
  std::string text = std::string(dtype_short_name(type.dtype)) + "[" + join(type.dims);
  if (type.strides != contiguous_strides(type.dims)) text += "; " + join(type.strides);
  text += "]";
  if (type.device.type != DeviceType::cpu) text += "@" + device_name(type.device);
  return text;
}

std::string print(const Graph& graph) {
  std::string text;
  for (const Input& input : graph.inputs) {
    text += std::string(kind_name(input.kind)) + " " + print_value(graph, input.value);
    if (!input.target.empty()) text += " " + input.target;
    text += "\n";
  }
  for (const Node& node : graph.nodes) text += print_node(graph, node) + "\n";
  for (const Output& output : graph.outputs) {
    text += "return " + (output.value == no_value ? print_arg(output.constant) : "%" + std::to_string(output.value));
    if (output.alias_of != no_value) text += " alias of %" + std::to_string(output.alias_of);
    text += "\n";
  }
  for (const Mutation& mutation : graph.mutations) {
    text += "%" + std::to_string(mutation.input) + " <- %" + std::to_string(mutation.value) + "\n";
  }
  return text;
}

}  // namespace cudaagent::ir
