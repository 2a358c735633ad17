#include "rewrite/call.h"

#include <algorithm>

#include "ir/prims.h"
#include "rewrite/promote.h"

namespace cudaagent::rewrite {

namespace {

bool is_number(const Arg& arg) { return arg.is<bool>() || arg.is<std::int64_t>() || arg.is<double>(); }

}  // namespace

Call::Call(const ir::Graph& captured, const ir::Node& node, std::vector<ir::ValueId>& map, Builder& builder)
    : captured_(captured), node_(node), map_(map), builder_(builder) {}

const Arg* Call::find(std::string_view name) const {
  const Arg* arg = find_arg(node_.args, name);
  return arg && !arg->is<None>() ? arg : nullptr;
}

void Call::wrong(std::string_view name, const char* wanted) const {
  builder_.refuse("argument '" + std::string(name) + "' is not a constant " + wanted);
}

Val Call::mapped(ir::ValueId captured) const { return {map_.at(static_cast<std::size_t>(captured))}; }

bool Call::has(std::string_view name) const { return find(name) != nullptr; }

bool Call::is_tensor(std::string_view name) const {
  const Arg* arg = find(name);
  return arg && arg->is<Ref>();
}

Operand Call::operand(std::string_view name) const {
  const Arg* arg = find(name);
  if (arg && arg->is<Ref>()) return mapped(arg->as<Ref>().id);
  if (arg && is_number(*arg)) return Operand(*arg);
  wrong(name, "number or tensor");
  return 0;
}

Val Call::tensor(std::string_view name) const {
  if (is_tensor(name)) return mapped(find(name)->as<Ref>().id);
  const Operand number = operand(name);
  Promotion promotion;
  promotion.add_number(number.number());
  return builder_.full({}, promotion.result(), number.number());
}

std::vector<Val> Call::tensors(std::string_view name) const {
  std::vector<Val> values;
  const Arg* arg = find(name);
  if (!arg || !arg->is<ArgList>()) {
    wrong(name, "list of tensors");
    return values;
  }
  for (const Arg& item : arg->as<ArgList>()) {
    if (item.is<Ref>())
      values.push_back(mapped(item.as<Ref>().id));
    else
      wrong(name, "list of tensors");
  }
  return values;
}

Arg Call::scalar(std::string_view name, Arg fallback) const {
  const Arg* arg = find(name);
  if (!arg) return fallback;
  if (is_number(*arg)) return *arg;
  wrong(name, "number");
  return fallback;
}

double Call::number(std::string_view name, double fallback) const { return number_of(scalar(name, Arg{fallback})); }

std::int64_t Call::integer(std::string_view name, std::int64_t fallback) const {
  const Arg* arg = find(name);
  if (!arg) return fallback;
  if (arg->is<std::int64_t>()) return arg->as<std::int64_t>();
  if (arg->is<bool>()) return arg->as<bool>() ? 1 : 0;
  wrong(name, "integer");
  return fallback;
}

bool Call::flag(std::string_view name, bool fallback) const { return integer(name, fallback ? 1 : 0) != 0; }

Dims Call::ints(std::string_view name) const {
  const Arg* arg = find(name);
  if (!arg) return {};
  if (!arg->is<ArgList>()) return {integer(name, 0)};
  Dims values;
  for (const Arg& item : arg->as<ArgList>()) {
    if (item.is<std::int64_t>())
      values.push_back(item.as<std::int64_t>());
    else
      wrong(name, "list of integers");
  }
  return values;
}

DType Call::dtype(std::string_view name, DType fallback) const {
  const Arg* arg = find(name);
  if (!arg) return fallback;
  if (arg->is<DType>()) return arg->as<DType>();
  wrong(name, "dtype");
  return fallback;
}

std::string_view Call::text(std::string_view name, std::string_view fallback) const {
  const Arg* arg = find(name);
  if (!arg) return fallback;
  if (arg->is<std::string>()) return arg->as<std::string>();
  wrong(name, "string");
  return fallback;
}

const TensorType& Call::out(std::size_t k) const {
  if (used(k)) return captured_.type(node_.outputs[k]);
  const auto first =
      std::find_if(node_.outputs.begin(), node_.outputs.end(), [](ir::ValueId id) { return id != ir::no_value; });
  if (first == node_.outputs.end()) throw InternalError("a node without outputs reached its decomposition");
  return captured_.type(*first);
}

const TensorType& Call::captured_type(std::string_view name) const { return captured_.type(find(name)->as<Ref>().id); }

void Call::yield(std::size_t k, Val x) const {
  if (!used(k)) return;
  x = builder_.to(x, out(k).dtype);
  yield_alias(k, builder_.views_foreign(x) ? builder_.copy(x) : x);
}

void Call::yield_alias(std::size_t k, Val x) const {
  if (!used(k)) return;
  const ir::ValueId id = node_.outputs[k];
  if (builder_.dims(x) != out(k).dims || builder_.dtype(x) != out(k).dtype) {
    builder_.refuse("bug: the decomposition gives " + ir::print_type(builder_.type(x)) + " for " +
                    ir::print_type(out(k)));
    return;
  }
  map_.at(static_cast<std::size_t>(id)) = x.id;
  ir::Value& value = builder_.graph().values.at(static_cast<std::size_t>(x.id));
  if (!builder_.fresh(x) || value.origin != ir::no_value) return;
  value = captured_.values.at(static_cast<std::size_t>(id));
  value.origin = id;
}

void Call::bound(Val x, std::int64_t classes) const {
  ir::Graph& graph = builder_.graph();
  while (true) {
    ir::Value& value = graph.values.at(static_cast<std::size_t>(x.id));
    if (value.range_lo == value.range_hi) {
      value.range_lo = 0;
      value.range_hi = classes;
    }
    const auto maker = std::find_if(graph.nodes.rbegin(), graph.nodes.rend(), [&](const ir::Node& node) {
      return std::find(node.outputs.begin(), node.outputs.end(), x.id) != node.outputs.end();
    });
    if (maker == graph.nodes.rend() || !(ir::is_view(maker->op) || maker->op == "prim::convert")) return;
    x = {references(maker->args).at(0)};
    if (!is_integral(builder_.dtype(x))) return;
  }
}

}  // namespace cudaagent::rewrite
