#include "schedule/dataflow.h"

#include <algorithm>

namespace cudaagent::schedule {

using ir::Node;
using ir::ValueId;

namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

/// The view over the elements a generator makes: of iota in steps of its index, of full nowhere.
StridedView whole_of_generator(const ir::Graph& graph, const Node& node) {
  TensorType type = graph.type(node.outputs[0]);
  type.strides.assign(type.dims.size(), 0);
  if (node.op == "prim::iota")
    type.strides[at(static_cast<std::int32_t>(find_arg(node.args, "dim")->as<std::int64_t>()))] = 1;
  return StridedView::whole(type);
}

}  // namespace

Dataflow::Dataflow(ir::Graph& graph, const std::set<ValueId>& copies)
    : graph_(graph),
      producers_(ir::producers(graph)),
      roles_(graph.nodes.size(), Role::dead),
      places_(graph.values.size()),
      live_(graph.values.size(), false),
      needed_(graph.values.size(), false) {
  find_live(copies);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) decide(static_cast<std::int32_t>(n), copies);
  connect();
}

void Dataflow::find_live(const std::set<ValueId>& copies) {
  const auto need = [&](ValueId value) {
    if (value != ir::no_value) live_[at(value)] = needed_[at(value)] = true;
  };
  for (const ir::Output& output : graph_.outputs) need(output.value);
  for (const ir::Mutation& mutation : graph_.mutations) need(mutation.value);
  for (const ValueId value : copies) need(value);
  for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
    const Node& node = graph_.nodes[n];
    if (!ir::is_prim(node.op)) {
      for (const ValueId read : references(node.args)) need(read);
    } else if (live_[at(node.outputs[0])]) {
      for (const ValueId read : references(node.args)) live_[at(read)] = true;
    }
  }
}

void Dataflow::decide(std::int32_t n, const std::set<ValueId>& copies) {
  const Node& node = graph_.nodes[at(n)];
  if (!ir::is_prim(node.op)) {
    roles_[at(n)] = Role::external;
    externals_.push_back(n);
    return;
  }
  const ValueId value = node.outputs[0];
  if (!live_[at(value)]) return;
  if (ir::is_view(node.op)) return decide_view(n, copies.count(value) > 0);
  roles_[at(n)] = ir::is_generator(node.op) && !needed_[at(value)] ? Role::inlined : Role::compute;
  graph_.values[at(value)].type.strides = choose_strides(graph_, node);
}

void Dataflow::decide_view(std::int32_t n, bool copy) {
  const Node& node = graph_.nodes[at(n)];
  const ValueId source = references(node.args)[0], value = node.outputs[0];
  TensorType& type = graph_.values[at(value)].type;
  Place& mine = places_[at(value)];
  roles_[at(n)] = needed_[at(value)] ? Role::compute : Role::inlined;
  if (type.numel() == 0) {
    type.strides = contiguous_strides(type.dims);
    return;
  }
  mine = place(source);
  const bool generator = is_generated_inline(mine.base);
  if (!mine.view->apply(graph_, node)) {
    mine.view.reset();
    roles_[at(n)] = Role::compute;
    type.strides = contiguous_strides(type.dims);
    return;
  }
  auto strides = mine.view->strides();
  // No tensor steps backwards in memory.
  if (strides && std::any_of(strides->begin(), strides->end(), [](std::int64_t s) { return s < 0; })) strides.reset();
  if (needed_[at(value)] && strides && !generator && !copy) roles_[at(n)] = Role::view;
  type.strides = roles_[at(n)] != Role::compute && strides ? *strides : choose_strides(graph_, node);
}

bool Dataflow::is_transparent(ValueId value) const {
  const std::int32_t n = producer(value);
  return n >= 0 && ir::is_view(node(n).op) && role(n) != Role::compute;
}

bool Dataflow::is_generated_inline(ValueId value) const {
  const std::int32_t n = producer(value);
  return n >= 0 && ir::is_generator(node(n).op);
}

Place Dataflow::place(ValueId value) const {
  if (is_transparent(value)) return places_[at(value)];
  if (is_generated_inline(value)) return {value, whole_of_generator(graph_, node(producer(value)))};
  return {value, StridedView::whole(graph_.type(value))};
}

std::vector<ValueId> Dataflow::reads(std::int32_t n) const {
  std::vector<ValueId> found;
  if (role(n) == Role::compute && is_empty(n)) return found;
  for (const ValueId operand : references(node(n).args)) {
    ValueId base = operand;
    while (is_transparent(base)) base = references(node(producer(base)).args)[0];
    // External nodes read a generator's value from memory, generated ones make it anew.
    if (is_generated_inline(base) && role(n) != Role::external) continue;
    if (std::find(found.begin(), found.end(), base) == found.end()) found.push_back(base);
  }
  return found;
}

bool Dataflow::is_empty(std::int32_t n) const {
  const Node& checked = node(n);
  if (graph_.type(checked.outputs[0]).numel() == 0) return true;
  const std::vector<ValueId> operands = references(checked.args);
  return std::any_of(operands.begin(), operands.end(), [&](ValueId v) { return graph_.type(v).numel() == 0; });
}

bool Dataflow::copy_operands(std::int32_t n) {
  bool changed = false;
  for (const ValueId operand : references(node(n).args)) {
    if (!is_transparent(operand) || places_[at(operand)].view->strides()) continue;
    roles_[at(producer(operand))] = Role::compute;
    TensorType& type = graph_.values[at(operand)].type;
    type.strides = contiguous_strides(type.dims);
    changed = true;
  }
  return changed;
}

void Dataflow::connect() {
  readers_.assign(graph_.values.size(), {});
  forced_.assign(graph_.values.size(), false);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto n = static_cast<std::int32_t>(i);
    if (role(n) == Role::view) forced_[at(place(node(n).outputs[0]).base)] = true;
    if (role(n) != Role::compute && role(n) != Role::external) continue;
    for (const ValueId read : reads(n)) readers_[at(read)].push_back(n);
  }
  const auto force = [&](ValueId value) {
    if (value != ir::no_value && !is_transparent(value)) forced_[at(value)] = true;
  };
  for (const ir::Output& output : graph_.outputs) force(output.value);
  for (const ir::Mutation& mutation : graph_.mutations) force(mutation.value);
}

}  // namespace cudaagent::schedule
