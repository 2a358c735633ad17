#include "pipeline_measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "jit/device.h"

namespace cudaagent {

namespace {

using Clock = std::chrono::steady_clock;

Tensor call(TensorHost& host, const std::string& op, const std::vector<NamedArg>& args, std::vector<Tensor> tensors) {
  return host.prepare(op, args)->run(tensors).at(0);
}

// sin(0), sin(1), ... for floats; 0, 1, ... modulo the meaningful range for integers. Laid out by the type's strides.
Tensor filled(const ir::Value& value, TensorHost& host) {
  const TensorType& type = value.type;
  const std::int64_t span = std::max<std::int64_t>(type.span(), 1);
  const DType index = is_float(type.dtype) ? DType::f32 : DType::i64;
  Tensor data = call(host, "aten::arange",
                     {{"end", Arg{span}}, {"dtype", Arg{index}}, {"device", Arg{type.device}}}, {});
  if (is_float(type.dtype)) {
    data = call(host, "aten::sin", {{"self", Arg{Ref{0}}}}, {data});
  } else {
    const std::int64_t range = std::max<std::int64_t>(value.range_hi - value.range_lo, 2);
    data = call(host, "aten::remainder.Scalar", {{"self", Arg{Ref{0}}}, {"other", Arg{range}}}, {data});
  }
  if (type.dtype != index) data = call(host, "aten::to.dtype", {{"self", Arg{Ref{0}}}, {"dtype", Arg{type.dtype}}}, {data});
  return host.view(data, type, 0);
}

std::unique_ptr<runtime::Program> group_program(const ProofGroup& group, const schedule::Plan& plan, BuiltMap& built,
                                                const Device& device, TensorHost& host) {
  schedule::Plan part;
  part.graph = plan.graph;
  part.graph.nodes.clear();
  part.graph.mutations.clear();
  part.graph.inputs.clear();
  part.graph.outputs.clear();
  for (const ir::ValueId in : group.inputs) part.graph.inputs.push_back({in, ir::InputKind::user, ""});
  for (const ir::ValueId out : group.outputs) part.graph.outputs.push_back({out, Arg{}, ir::no_value});
  std::vector<std::shared_ptr<runtime::Kernel>> kernels;
  for (const std::int32_t r : group.regions) {
    part.regions.push_back(plan.regions[static_cast<std::size_t>(r)]);
    kernels.push_back(load_kernel(*built.at(schedule::fingerprint(part.regions.back().body)), device).value());
  }
  return runtime::make_program(part, kernels, std::vector<bool>(group.inputs.size(), false), host);
}

template <class Run>
double seconds(const Run& run, int times, const Device& device, TensorHost& host) {
  const auto start = Clock::now();
  for (int i = 0; i < times; ++i) run();
  if (device.type == DeviceType::cuda) jit::synchronize(host.current_stream(device));
  return std::chrono::duration<double>(Clock::now() - start).count() / times;
}

double median(std::vector<double> samples) {
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2), samples.end());
  return samples[samples.size() / 2];
}

}  // namespace

Times measure(const ProofGroup& group, const schedule::Plan& plan, BuiltMap& built, const Device& device,
              TensorHost& host) {
  constexpr double budget_s = 0.02;
  constexpr int most_samples = 15;
  const auto program = group_program(group, plan, built, device, host);
  std::vector<Tensor> inputs;
  for (const ir::Input& input : group.truth.inputs) {
    inputs.push_back(filled(group.truth.values.at(static_cast<std::size_t>(input.value)), host));
  }
  const runtime::Interpreter eager(group.truth, host);
  const auto run_kernel = [&] { (void)program->run(inputs); };
  const auto run_eager = [&] { (void)eager.run(inputs); };
  const double once = seconds(run_kernel, 1, device, host) + seconds(run_eager, 1, device, host);
  const int batch = std::clamp(static_cast<int>(budget_s / most_samples / std::max(once, 1e-7)), 1, 20);
  const auto deadline = Clock::now() + std::chrono::duration<double>(budget_s);
  std::vector<double> kernel, reference;
  while (kernel.size() < 3 || (kernel.size() < most_samples && Clock::now() < deadline)) {
    kernel.push_back(seconds(run_kernel, batch, device, host));
    reference.push_back(seconds(run_eager, batch, device, host));
  }
  return {median(kernel) * 1e6, median(reference) * 1e6};
}

}  // namespace cudaagent
