#include "support/prim_interpreter.h"

#include <algorithm>
#include <limits>

#include "support/scalar_ops.h"

namespace cudaagent::testing {

namespace {

using Dims = std::vector<std::int64_t>;
using ir::Node;
using ir::ValueId;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

template <class F>
void for_each_index(const Dims& dims, const F& action) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
  Dims index(dims.size(), 0);
  while (true) {
    action(index);
    std::size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

/// Position of `index` (aligned right, dims of extent 1 pinned) in a row-major tensor of `dims`.
std::int64_t position(const Dims& index, const Dims& dims) {
  std::int64_t place = 0;
  const std::size_t missing = index.size() - dims.size();
  for (std::size_t d = 0; d < dims.size(); ++d) place = place * dims[d] + (dims[d] == 1 ? 0 : index[missing + d]);
  return place;
}

class PrimNode {
 public:
  PrimNode(const ir::Graph& graph, const Node& node, const std::map<ValueId, Elements>& values)
      : graph_(graph), node_(node), values_(values), type_(graph.type(node.outputs[0])), fn_(node.op.substr(6)) {}

  Elements run() const {
    if (fn_ == "full") return Elements(at(type_.numel()), constant_element(attribute("value"), type_.dtype));
    if (fn_ == "iota") return iota();
    if (fn_ == "reduce") return reduce();
    if (fn_ == "reshape") return values_.at(operand());
    if (ir::is_view(node_.op)) return view();
    return map();
  }

 private:
  const Arg& attribute(const char* name) const { return *find_arg(node_.args, name); }
  ValueId operand() const { return references(node_.args)[0]; }

  Elements iota() const {
    const auto dim = attribute("dim").as<std::int64_t>();
    const double start = constant_element(attribute("start"), DType::f64);
    const double step = constant_element(attribute("step"), DType::f64);
    Elements out;
    for_each_index(type_.dims, [&](const Dims& index) {
      out.push_back(convert_element(start + step * static_cast<double>(index[at(dim)]), type_.dtype));
    });
    return out;
  }

  Elements map() const {
    const std::size_t arity = fn_ == "convert" ? 1 : node_.args.size();
    DType dtype = type_.dtype;
    for (std::size_t i = fn_ == "where" ? 1 : 0; i < arity; ++i) {
      if (node_.args[i].value.is<Ref>()) dtype = graph_.type(node_.args[i].value.as<Ref>().id).dtype;
    }
    Elements out;
    for_each_index(type_.dims, [&](const Dims& index) {
      std::vector<double> x;
      for (std::size_t i = 0; i < arity; ++i) {
        const Arg& arg = node_.args[i].value;
        if (!arg.is<Ref>()) {
          x.push_back(constant_element(arg, fn_ == "where" && i == 0 ? DType::b8 : dtype));
          continue;
        }
        const ValueId id = arg.as<Ref>().id;
        x.push_back(values_.at(id)[at(position(index, graph_.type(id).dims))]);
      }
      out.push_back(fn_ == "convert" ? convert_element(x[0], type_.dtype) : apply_map(fn_, dtype, x));
    });
    return out;
  }

  Elements reduce() const {
    const Dims& dims = graph_.type(operand()).dims;
    Dims kept = dims;
    for (const std::int64_t d : as_int_list(attribute("dims"))) kept[at(d)] = 1;
    const auto kind = *ir::find_reduce_kind(attribute("kind").as<std::string>());
    std::vector<Accumulator> results(at(type_.numel()), Accumulator(kind, type_.dtype));
    const Elements& x = values_.at(operand());
    std::size_t next = 0;
    for_each_index(dims, [&](const Dims& index) { results[at(position(index, kept))].take(x[next++]); });
    Elements out;
    for (const Accumulator& result : results) out.push_back(result.result());
    return out;
  }

  Elements view() const {
    const Dims& dims = graph_.type(operand()).dims;
    const Elements& x = values_.at(operand());
    Elements out;
    for_each_index(type_.dims, [&](const Dims& index) {
      Dims source = index;
      if (fn_ == "permute") {
        const Dims order = as_int_list(attribute("dims"));
        for (std::size_t d = 0; d < order.size(); ++d) source[at(order[d])] = index[d];
      } else if (fn_ == "slice") {
        std::int64_t& i = source[at(attribute("dim").as<std::int64_t>())];
        i = attribute("start").as<std::int64_t>() + i * attribute("step").as<std::int64_t>();
      }
      out.push_back(x[at(position(source, dims))]);
    });
    return out;
  }

  const ir::Graph& graph_;
  const Node& node_;
  const std::map<ValueId, Elements>& values_;
  const TensorType& type_;
  std::string fn_;
};

}  // namespace

std::map<ValueId, Elements> interpret_prims(const ir::Graph& graph, std::map<ValueId, Elements> inputs,
                                            const ExternalOp& external) {
  std::map<ValueId, Elements> values = std::move(inputs);
  for (const Node& node : graph.nodes) {
    if (ir::is_prim(node.op)) {
      values[node.outputs[0]] = PrimNode(graph, node, values).run();
      continue;
    }
    std::vector<Elements> operands;
    for (const ValueId read : references(node.args)) operands.push_back(values.at(read));
    std::vector<Elements> results = external(node, operands);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != ir::no_value) values[node.outputs[i]] = std::move(results.at(i));
    }
  }
  return values;
}

Elements to_memory(const Elements& elements, const TensorType& type) {
  Elements memory(at(type.span()), std::numeric_limits<double>::quiet_NaN());
  std::size_t next = 0;
  for_each_index(type.dims, [&](const Dims& index) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < index.size(); ++d) place += index[d] * type.strides[d];
    memory.at(at(place)) = elements[next++];
  });
  return memory;
}

Elements from_memory(const Elements& memory, const TensorType& type, std::int64_t offset) {
  Elements elements;
  for_each_index(type.dims, [&](const Dims& index) {
    std::int64_t place = offset;
    for (std::size_t d = 0; d < index.size(); ++d) place += index[d] * type.strides[d];
    elements.push_back(memory.at(at(place)));
  });
  return elements;
}

}  // namespace cudaagent::testing
