// Plans written by hand, their kernels plain functions: what the runtime is tested with.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/runtime.h"
#include "support/graph_builder.h"
#include "support/plain_host.h"

namespace cudaagent::testing {

/// A loaded module whose kernels are functions of this process.
class ToyModule : public jit::Module {
 public:
  explicit ToyModule(jit::HostKernel kernel) : kernel_(kernel) {}
  void* kernel(const std::string& name) override { return reinterpret_cast<void*>(kernel_); }

 private:
  jit::HostKernel kernel_;
};

/// A plan under construction: regions in the order they are added.
class ToyPlan : public GraphBuilder {
 public:
  /// A node that runs through the host.
  ir::ValueId external(const std::string& op, std::vector<NamedArg> args, DType dtype, std::vector<std::int64_t> dims) {
    const ir::ValueId result = node(op, std::move(args), dtype, std::move(dims));
    schedule::Region region;
    region.kind = schedule::RegionKind::external;
    region.nodes = {static_cast<std::int32_t>(graph.nodes.size()) - 1};
    region.inputs = references(graph.nodes.back().args);
    region.outputs = {result};
    add(std::move(region), nullptr);
    return result;
  }

  /// `kernel` reads `inputs` and writes `outputs`, in that order, then scratch.
  void generated(jit::HostKernel kernel, std::vector<ir::ValueId> inputs, std::vector<ir::ValueId> outputs,
                 std::int64_t count, std::vector<codegen::Scratch> scratch = {}) {
    schedule::Region region;
    region.kind = schedule::RegionKind::generated;
    codegen::Source source;
    codegen::Launch launch;
    launch.kernel = "toy";
    launch.count = count;
    for (const ir::ValueId value : inputs) region.body.buffers.push_back(buffer(value, false));
    for (const ir::ValueId value : outputs) region.body.buffers.push_back(buffer(value, true));
    for (std::size_t b = 0; b < region.body.buffers.size(); ++b) {
      launch.args.push_back({codegen::KernelArg::Kind::buffer, static_cast<std::int32_t>(b)});
    }
    for (std::size_t s = 0; s < scratch.size(); ++s) {
      launch.args.push_back({codegen::KernelArg::Kind::scratch, static_cast<std::int32_t>(s)});
    }
    source.launches = {launch};
    source.scratch = std::move(scratch);
    region.inputs = std::move(inputs);
    region.outputs = std::move(outputs);
    add(std::move(region),
        std::make_shared<runtime::Kernel>(runtime::Kernel{std::move(source), std::make_shared<ToyModule>(kernel)}));
  }

  ir::ValueId view(ir::ValueId base, std::vector<std::int64_t> dims, std::vector<std::int64_t> strides,
                   std::int64_t offset) {
    const ir::ValueId result = value(graph.type(base).dtype, std::move(dims));
    graph.values.back().type.strides = std::move(strides);
    schedule::Region region;
    region.kind = schedule::RegionKind::view;
    region.inputs = {base};
    region.outputs = {result};
    region.view_of = base;
    region.view_offset = offset;
    add(std::move(region), nullptr);
    return result;
  }

  void aliased_output(ir::ValueId value, ir::ValueId input) { graph.outputs.push_back({value, {}, input}); }
  void update(ir::ValueId input, ir::ValueId value) { graph.mutations.push_back({input, value}); }

  schedule::Plan plan() const { return {graph, regions_}; }
  std::vector<const codegen::Source*> sources() const {
    std::vector<const codegen::Source*> sources;
    for (const auto& kernel : kernels_) sources.push_back(kernel ? &kernel->source : nullptr);
    return sources;
  }
  std::unique_ptr<runtime::Program> program(TensorHost& host, std::vector<bool> bound = {}) const {
    bound.resize(graph.inputs.size());
    return runtime::make_program(plan(), kernels_, bound, host);
  }

 private:
  schedule::Buffer buffer(ir::ValueId value, bool output) const {
    return {value, graph.type(value).dtype, graph.type(value).span(), output};
  }
  void add(schedule::Region region, std::shared_ptr<runtime::Kernel> kernel) {
    regions_.push_back(std::move(region));
    kernels_.push_back(std::move(kernel));
  }

  std::vector<schedule::Region> regions_;
  std::vector<std::shared_ptr<runtime::Kernel>> kernels_;
};

/// out[i] = in[i] + 1, floats.
inline void add_one(void* const* args, std::int64_t begin, std::int64_t end) {
  const auto* in = static_cast<const float*>(args[0]);
  auto* out = static_cast<float*>(args[1]);
  for (std::int64_t i = begin; i < end; ++i) out[i] = in[i] + 1;
}

/// out[i] = a[i] + b[i], floats.
inline void add_both(void* const* args, std::int64_t begin, std::int64_t end) {
  const auto* a = static_cast<const float*>(args[0]);
  const auto* b = static_cast<const float*>(args[1]);
  auto* out = static_cast<float*>(args[2]);
  for (std::int64_t i = begin; i < end; ++i) out[i] = a[i] + b[i];
}

}  // namespace cudaagent::testing
