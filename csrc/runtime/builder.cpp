#include "runtime/builder.h"

#include "runtime/call.h"

namespace cudaagent::runtime {

namespace {

using schedule::Region;
using schedule::RegionKind;

bool same_layout(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || a.dims != b.dims) return false;
  for (std::size_t d = 0; d < a.dims.size(); ++d) {
    if (a.dims[d] > 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

class Builder {
 public:
  Builder(const schedule::Plan& plan, const std::vector<std::shared_ptr<Kernel>>& kernels, TensorHost& host)
      : plan_(plan), graph_(plan.graph), kernels_(kernels), host_(host), places_(find_places(plan)) {
    if (kernels.size() != plan.regions.size()) throw InternalError("make_program needs one kernel entry a region");
    number_bases();
    place_arena();
    find_layout_uses();
  }

  Blueprint build() {
    std::size_t scratch = 0;
    for (std::size_t r = 0; r < plan_.regions.size(); ++r) {
      const Region& region = plan_.regions[r];
      if (region.kind == RegionKind::external) print_.steps.push_back(extern_step(region));
      if (region.kind == RegionKind::generated) print_.steps.push_back(kernel_step(region, r, scratch));
      region_steps_.push_back(static_cast<int>(print_.steps.size()) - 1);
    }
    for (const ir::Mutation& mutation : graph_.mutations) print_.updates.push_back(update(mutation));
    for (const ir::Output& output : graph_.outputs) print_.gives.push_back(give(output));
    spend();
    print_.bases = static_cast<std::size_t>(next_base_);
    return std::move(print_);
  }

 private:
  void number_bases() {
    base_of_.assign(graph_.values.size(), arena_base);
    arena_offset_.assign(graph_.values.size(), 0);
    operand_of_.assign(graph_.values.size(), -1);
    located_.assign(graph_.values.size(), false);
    laid_out_.assign(graph_.values.size(), false);
    for (const ir::Input& input : graph_.inputs) base_of_.at(index(input.value)) = next_base_++;
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      const Place& place = places_.of[v];
      const bool own = place.home == Home::owned || place.home == Home::external;
      if (own && index(place.root) == v) base_of_[v] = next_base_++;
    }
  }

  void place_arena() {
    std::vector<const codegen::Source*> sources;
    for (std::size_t r = 0; r < kernels_.size(); ++r) {
      const bool generated = plan_.regions[r].kind == RegionKind::generated;
      if (generated != static_cast<bool>(kernels_[r])) {
        throw InternalError("region " + std::to_string(r) + (generated ? " lacks its kernel" : " has a kernel"));
      }
      sources.push_back(generated ? &kernels_[r]->source : nullptr);
      if (generated) print_.arena_device = graph_.type(plan_.regions[r].outputs.at(0)).device;
    }
    Arena arena = plan_memory(plan_, sources);
    print_.arena_bytes = arena.bytes;
    scratch_offsets_ = std::move(arena.scratch_offsets);
    for (const Arena::Slot& slot : arena.slots) arena_offset_.at(index(slot.value)) = slot.offset;
  }

  // Kernels and views count on planned strides; operators take any.
  void find_layout_uses() {
    for (const Region& region : plan_.regions) {
      if (region.kind == RegionKind::view) laid_out_.at(index(places_[region.view_of].root)) = true;
      if (region.kind != RegionKind::generated) continue;
      for (const ir::ValueId value : region.inputs) {
        laid_out_.at(index(places_[value].root)) = true;
        located_.at(index(places_[value].root)) = true;
      }
    }
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (located_.at(index(graph_.inputs[i].value))) print_.located_inputs.push_back(static_cast<BaseId>(i + 1));
    }
  }

  OperandId operand(ir::ValueId value) {
    OperandId& id = operand_of_.at(index(value));
    if (id >= 0) return id;
    const Place& place = places_[value];
    Operand operand{base_of_.at(index(place.root)), place.offset + arena_offset_.at(index(place.root)),
                    place.root == value && place.home != Home::arena, graph_.type(value)};
    return id = add_operand(std::move(operand), place.root);
  }

  OperandId add_operand(Operand operand, ir::ValueId root) {
    print_.operands.push_back(std::move(operand));
    operand_roots_.push_back(root);
    return static_cast<OperandId>(print_.operands.size() - 1);
  }

  std::unique_ptr<Step> extern_step(const Region& region) {
    if (region.nodes.size() != 1) throw InternalError("an external region holds one node");
    const ir::Node& node = graph_.nodes.at(index(region.nodes[0]));
    const Call call = make_call(node);
    std::vector<OperandId> operands;
    for (const ir::ValueId value : call.operands) operands.push_back(operand(value));
    std::vector<ExternStep::Result> results;
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const ir::ValueId value = node.outputs[o];
      if (value == ir::no_value) continue;
      results.push_back(
          {o, base_of_.at(index(value)), laid_out_.at(index(value)), located_.at(index(value)), graph_.type(value)});
    }
    return std::make_unique<ExternStep>(node.op, host_.prepare(node.op, call.args), std::move(operands),
                                        std::move(results));
  }

  std::unique_ptr<Step> kernel_step(const Region& region, std::size_t r, std::size_t& scratch) {
    std::vector<KernelStep::Buffer> buffers;
    for (const schedule::Buffer& buffer : region.body.buffers) {
      const bool owned = buffer.output && places_[buffer.value].home == Home::owned;
      buffers.push_back({operand(buffer.value), owned, buffer.output, base_of_.at(index(places_[buffer.value].root)),
                         graph_.type(buffer.value)});
    }
    const auto begin = scratch_offsets_.begin() + static_cast<std::ptrdiff_t>(scratch);
    const std::size_t count = kernels_[r]->source.scratch.size();
    scratch += count;
    return std::make_unique<KernelStep>(kernels_[r], graph_.type(region.outputs.at(0)).device, std::move(buffers),
                                        std::vector<std::int64_t>(begin, begin + static_cast<std::ptrdiff_t>(count)));
  }

  std::size_t input_index(ir::ValueId value) const {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.inputs[i].value == value) return i;
    }
    throw InternalError("value %" + std::to_string(value) + " is no input of the graph");
  }

  const ir::Mutation* mutation_of(ir::ValueId input) const {
    for (const ir::Mutation& mutation : graph_.mutations) {
      if (mutation.input == input) return &mutation;
    }
    return nullptr;
  }

  Update update(const ir::Mutation& mutation) {
    const Place& source = places_[mutation.value];
    const bool reads_updated = source.home == Home::input && mutation_of(source.root);
    return {input_index(mutation.input), operand(mutation.value), reads_updated};
  }

  Give give(const ir::Output& output) {
    if (output.value == ir::no_value) return {};
    const Place& place = places_[output.value];
    if (output.alias_of != ir::no_value) return {Give::Kind::tensor, alias(output)};
    // A clone that a rewrite took for the identity is still fresh to the caller.
    return {place.home == Home::input ? Give::Kind::copy : Give::Kind::tensor, operand(output.value)};
  }

  // The output looks into the input as it looks into the value that the input is, or becomes.
  OperandId alias(const ir::Output& output) {
    const ir::ValueId input = output.alias_of;
    const Place& place = places_[output.value];
    if (place.root == input) return operand(output.value);
    const ir::Mutation* mutation = mutation_of(input);
    if (!mutation && place.home == Home::external) return operand(output.value);
    Operand view{base_of_.at(index(input)), 0, false, graph_.type(output.value)};
    if (mutation && same_layout(graph_.type(mutation->value), graph_.type(input)) &&
        places_[mutation->value].root == place.root) {
      view.offset = place.offset - places_[mutation->value].offset;
      view.whole = view.offset == 0 && same_layout(view.type, graph_.type(input));
      return add_operand(std::move(view), input);
    }
    if (same_layout(view.type, graph_.type(input))) {
      view.whole = true;
      return add_operand(std::move(view), input);
    }
    throw UserError("an output shares memory with input " + graph_.values.at(index(input)).name +
                    " in a way that cannot be followed; wrap this function in cudaagent.disable");
  }

  // Memory goes back after the step that reads it last.
  void spend() {
    const int end = static_cast<int>(plan_.regions.size());
    const auto step_of = [&](ir::ValueId root) -> Step* {
      const int last = places_.last[index(root)];
      const int step = last < 0 || last >= end ? -1 : region_steps_[static_cast<std::size_t>(last)];
      return step < 0 ? nullptr : print_.steps[static_cast<std::size_t>(step)].get();
    };
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      const bool root = places_.of[v].home == Home::external && index(places_.of[v].root) == v;
      if (Step* step = root ? step_of(static_cast<ir::ValueId>(v)) : nullptr) step->spent_bases.push_back(base_of_[v]);
    }
    for (std::size_t o = 0; o < print_.operands.size(); ++o) {
      if (print_.operands[o].whole || places_[operand_roots_[o]].home == Home::input) continue;
      if (Step* step = step_of(operand_roots_[o])) step->spent_views.push_back(static_cast<OperandId>(o));
    }
  }

  static std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

  const schedule::Plan& plan_;
  const ir::Graph& graph_;
  const std::vector<std::shared_ptr<Kernel>>& kernels_;
  TensorHost& host_;
  const Places places_;
  Blueprint print_;
  BaseId next_base_ = 1;
  std::vector<BaseId> base_of_;             // by ValueId of a root
  std::vector<std::int64_t> arena_offset_;  // by ValueId of a root
  std::vector<OperandId> operand_of_;       // by ValueId
  std::vector<bool> located_, laid_out_;    // by ValueId of a root
  std::vector<ir::ValueId> operand_roots_;  // by OperandId
  std::vector<std::int64_t> scratch_offsets_;
  std::vector<int> region_steps_;  // by region: its step, or the last one before it
};

}  // namespace

Blueprint build(const schedule::Plan& plan, const std::vector<std::shared_ptr<Kernel>>& kernels, TensorHost& host) {
  return Builder(plan, kernels, host).build();
}

}  // namespace cudaagent::runtime
