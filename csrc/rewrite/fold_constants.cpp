#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/element.h"
#include "ir/prims.h"
#include "rewrite/passes.h"
#include "rewrite/promote.h"

namespace cudaagent::rewrite {

using ir::ValueId;

namespace {

/// The number as an element of `dtype` holds it.
Arg rounded(const Arg& number, DType dtype) {
  if (!is_float(dtype)) return constant_of(number, dtype);
  alignas(8) unsigned char element[8] = {};
  store_element(element, dtype, number_of(number));
  return Arg{load_element(element, dtype)};
}

/// Exactly rounded where the operands are float32 or float64: double holds every float32 result's true rounding.
std::optional<Arg> evaluate(std::string_view fn, const std::vector<Arg>& x) {
  static const std::map<std::string_view, std::function<Arg(double, double)>> functions = {
      {"add", [](double a, double b) { return Arg{a + b}; }}, {"sub", [](double a, double b) { return Arg{a - b}; }},
      {"mul", [](double a, double b) { return Arg{a * b}; }}, {"div", [](double a, double b) { return Arg{a / b}; }},
      {"eq", [](double a, double b) { return Arg{a == b}; }}, {"ne", [](double a, double b) { return Arg{a != b}; }},
      {"lt", [](double a, double b) { return Arg{a < b}; }},  {"le", [](double a, double b) { return Arg{a <= b}; }},
      {"gt", [](double a, double b) { return Arg{a > b}; }},  {"ge", [](double a, double b) { return Arg{a >= b}; }}};
  if (fn == "neg") return Arg{-number_of(x[0])};
  const auto it = functions.find(fn);
  if (it == functions.end()) return std::nullopt;
  return it->second(number_of(x[0]), number_of(x[1]));
}

class Folder {
 public:
  explicit Folder(ir::Graph& graph) : graph_(graph), escapes_(escaping(graph)) {}

  int run() {
    for (ir::Node& node : graph_.nodes) {
      if (!ir::is_prim(node.op)) continue;
      if (node.op == "prim::full") {
        known_.emplace(node.outputs[0], rounded(node.args[0].value, graph_.type(node.outputs[0]).dtype));
      } else if (ir::is_view(node.op) || node.op == "prim::convert") {
        move(node);
      } else if (ir::is_map(node.op)) {
        map(node);
      }
    }
    return fired_;
  }

 private:
  const Arg* known(const Arg& arg) const {
    if (!arg.is<Ref>()) return nullptr;
    const auto it = known_.find(arg.as<Ref>().id);
    return it == known_.end() ? nullptr : &it->second;
  }
  DType dtype(const ir::Node& node) const { return graph_.type(node.outputs[0]).dtype; }

  void become_full(ir::Node& node, const Arg& number) {
    node.op = "prim::full";
    node.implicit = false;
    node.args = {{"value", rounded(number, dtype(node))}};
    known_.emplace(node.outputs[0], node.args[0].value);
    ++fired_;
  }

  void move(ir::Node& node) {
    const Arg* number = known(node.args[0].value);
    const bool view_leaves = ir::is_view(node.op) && escapes_[static_cast<std::size_t>(node.outputs[0])];
    if (number && !view_leaves && fits(*number, dtype(node))) become_full(node, *number);
  }

  void map(ir::Node& node) {
    std::vector<Arg> numbers;
    for (const NamedArg& arg : node.args) {
      const Arg* number = known(arg.value);
      if (number || !arg.value.is<Ref>()) numbers.push_back(number ? *number : arg.value);
    }
    if (numbers.size() == node.args.size()) {
      const DType operands = graph_.type(references(node.args)[0]).dtype;
      const bool computable = operands == DType::f32 || operands == DType::f64;
      const auto result = computable ? evaluate(std::string_view(node.op).substr(6), numbers) : std::nullopt;
      if (result) return become_full(node, *result);
    }
    inline_numbers(node);
  }

  /// Full operands become numbers, as long as a tensor is left to give the dtype and the dims stay.
  void inline_numbers(ir::Node& node) {
    const std::size_t first = node.op == "prim::where" ? 1 : 0;
    for (std::size_t i = first; i < node.args.size(); ++i) {
      const Arg* number = known(node.args[i].value);
      if (!number) continue;
      std::vector<NamedArg> trial = node.args;
      trial[i].value = *number;
      if (!typed(trial, first) || dims_of(trial) != graph_.type(node.outputs[0]).dims) continue;
      node.args = std::move(trial);
      ++fired_;
    }
  }

  static bool typed(const std::vector<NamedArg>& args, std::size_t first) {
    return std::any_of(args.begin() + static_cast<std::ptrdiff_t>(first), args.end(),
                       [](const NamedArg& arg) { return arg.value.is<Ref>(); });
  }

  std::vector<std::int64_t> dims_of(const std::vector<NamedArg>& args) const {
    std::vector<std::int64_t> dims;
    for (const ValueId id : references(args)) {
      const auto& other = graph_.type(id).dims;
      if (dims.size() < other.size()) dims.insert(dims.begin(), other.size() - dims.size(), 1);
      for (std::size_t i = 0; i < other.size(); ++i) {
        std::int64_t& extent = dims[dims.size() - other.size() + i];
        if (extent == 1) extent = other[i];
      }
    }
    return dims;
  }

  ir::Graph& graph_;
  std::vector<bool> escapes_;
  std::unordered_map<ValueId, Arg> known_;
  int fired_ = 0;
};

}  // namespace

int fold_constants(ir::Graph& graph) { return Folder(graph).run(); }

}  // namespace cudaagent::rewrite
