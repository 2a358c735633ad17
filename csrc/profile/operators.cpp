#include "profile/operators.h"

#include <algorithm>
#include <map>
#include <set>

namespace cudaagent::profile {

namespace {

using Dims = std::vector<std::int64_t>;

const Arg* argument(const ir::Node& node, std::initializer_list<std::string_view> names) {
  for (const NamedArg& given : node.args)
    if (std::find(names.begin(), names.end(), given.name) != names.end()) return &given.value;
  return nullptr;
}

const TensorType* tensor(const ir::Graph& graph, const ir::Node& node, std::initializer_list<std::string_view> names) {
  const Arg* found = argument(node, names);
  return found && found->is<Ref>() ? &graph.type(found->as<Ref>().id) : nullptr;
}

std::vector<const TensorType*> tensors(const ir::Graph& graph, const ir::Node& node, std::string_view name) {
  std::vector<const TensorType*> found;
  const Arg* list = argument(node, {name});
  if (!list || !list->is<ArgList>()) return found;
  for (const Arg& item : list->as<ArgList>())
    if (item.is<Ref>()) found.push_back(&graph.type(item.as<Ref>().id));
  return found;
}

const TensorType* output(const ir::Graph& graph, const ir::Node& node) {
  return node.outputs.empty() || node.outputs[0] == ir::no_value ? nullptr : &graph.type(node.outputs[0]);
}

double elements(const TensorType* type) { return type ? static_cast<double>(type->numel()) : 0; }

double extent(const TensorType* type, std::size_t from_last) {
  return type && type->dims.size() >= from_last ? static_cast<double>(type->dims[type->dims.size() - from_last]) : 1;
}

/// A multiplication and an addition for each element of the result and each of the contracted dimension.
double matrix_flops(const ir::Graph& graph, const ir::Node& node) {
  const TensorType* left = tensor(graph, node, {"input", "self", "mat1", "batch1"});
  if (const TensorType* first = tensor(graph, node, {"mat1", "batch1"})) left = first;
  return 2 * elements(output(graph, node)) * extent(left, 1);
}

/// Each element of the weight meets each position of the output (of the input, where transposed) once.
double convolution_flops(const ir::Graph& graph, const ir::Node& node, bool transposed) {
  const TensorType* weight = tensor(graph, node, {"weight"});
  if (!weight || weight->dims.empty() || weight->dims[0] == 0) return 0;
  const TensorType* side = transposed ? tensor(graph, node, {"input"}) : output(graph, node);
  return 2 * elements(side) * elements(weight) / static_cast<double>(weight->dims[0]);
}

/// Query times key, then probabilities times value.
double attention_flops(const ir::Graph& graph, const ir::Node& node) {
  const TensorType* query = tensor(graph, node, {"query"});
  const TensorType* key = tensor(graph, node, {"key"});
  const TensorType* value = tensor(graph, node, {"value"});
  return 2 * elements(query) * extent(key, 2) +
         2 * elements(query) / extent(query, 1) * extent(key, 2) * extent(value, 1);
}

/// Every weight matrix meets every step of every sequence.
double recurrent_flops(const ir::Graph& graph, const ir::Node& node) {
  const TensorType* input = tensor(graph, node, {"input"});
  double weights = 0;
  for (const TensorType* weight : tensors(graph, node, "params"))
    if (weight->dims.size() == 2) weights += elements(weight);
  return input ? 2 * elements(input) / extent(input, 1) * weights : 0;
}

/// The product of the extents of all letters, and a multiplication for each operand beyond the first.
double einsum_flops(const ir::Graph& graph, const ir::Node& node) {
  const Arg* equation = argument(node, {"equation"});
  const std::vector<const TensorType*> operands = tensors(graph, node, "tensors");
  if (!equation || !equation->is<std::string>() || operands.size() < 2) return 0;
  std::map<char, std::int64_t> extents;
  std::size_t operand = 0, dim = 0;
  for (const char letter : equation->as<std::string>()) {
    if (letter == '-') break;
    if (letter == ',') {
      ++operand;
      dim = 0;
    } else if (letter != ' ' && operand < operands.size()) {
      if (letter == '.' || dim >= operands[operand]->dims.size()) return 0;  // an ellipsis: not counted
      extents[letter] = std::max(extents[letter], operands[operand]->dims[dim++]);
    }
  }
  double all = static_cast<double>(operands.size());
  for (const auto& [letter, count] : extents) all *= static_cast<double>(count);
  return all;
}

}  // namespace

std::string_view base_name(std::string_view op) {
  const std::size_t begin = op.find("::");
  op.remove_prefix(begin == std::string_view::npos ? 0 : begin + 2);
  return op.substr(0, op.find('.'));
}

bool is_view(std::string_view name) {
  static const std::set<std::string_view> names = {
      "alias",        "as_strided",   "broadcast_to", "chunk",    "detach",    "diagonal",         "expand",
      "expand_as",    "flatten",      "movedim",      "narrow",   "permute",   "reshape",          "select",
      "slice",        "split",        "squeeze",      "swapaxes", "t",         "split_with_sizes", "swapdims",
      "tensor_split", "transpose",    "unbind",       "unfold",   "unflatten", "unsqueeze",        "view",
      "view_as",      "_unsafe_view", "numpy_T",      "mT"};
  return names.contains(name);
}

bool is_lookup(std::string_view name) {
  static const std::set<std::string_view> names = {"embedding",    "gather", "index",
                                                   "index_select", "take",   "take_along_dim"};
  return names.contains(name);
}

double product_flops(const ir::Graph& graph, const ir::Node& node) {
  static const std::set<std::string_view> matrix = {"linear", "matmul", "mm",      "bmm",   "mv",   "dot",
                                                    "addmm",  "addmv",  "baddbmm", "inner", "vdot", "addbmm"};
  const std::string_view name = base_name(node.op);
  if (matrix.contains(name)) return matrix_flops(graph, node);
  if (name.starts_with("conv_transpose")) return convolution_flops(graph, node, true);
  if (name.starts_with("conv") && name.ends_with("d")) return convolution_flops(graph, node, false);
  if (name == "convolution") {
    const Arg* transposed = argument(node, {"transposed"});
    return convolution_flops(graph, node, transposed && transposed->is<bool>() && transposed->as<bool>());
  }
  if (name == "scaled_dot_product_attention") return attention_flops(graph, node);
  if (name == "lstm" || name == "gru" || name.starts_with("rnn_")) return recurrent_flops(graph, node);
  return name == "einsum" ? einsum_flops(graph, node) : 0;
}

}  // namespace cudaagent::profile
