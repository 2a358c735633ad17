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
  Tensor data =
      call(host, "aten::arange", {{"end", Arg{span}}, {"dtype", Arg{index}}, {"device", Arg{type.device}}}, {});
  if (is_float(type.dtype)) {
    data = call(host, "aten::sin", {{"self", Arg{Ref{0}}}}, {data});
  } else {
    const std::int64_t range = std::max<std::int64_t>(value.range_hi - value.range_lo, 2);
    data = call(host, "aten::remainder.Scalar", {{"self", Arg{Ref{0}}}, {"other", Arg{range}}}, {data});
  }
  if (type.dtype != index)
    data = call(host, "aten::to.dtype", {{"self", Arg{Ref{0}}}, {"dtype", Arg{type.dtype}}}, {data});
  return host.view(data, type, 0);
}

// Not the median: on a busy machine a thread that waits for another loses whole time slices (8 ms were seen for a
// kernel of 9 us), and what decides here is what a run costs, not what it met.
double least(const std::vector<double>& samples) { return *std::min_element(samples.begin(), samples.end()); }

}  // namespace

Bench::Bench(const ProofGroup& group, const schedule::Plan& plan, const Device& device, TensorHost& host)
    : group_(group), plan_(plan), device_(device), host_(host), inputs_(std::make_shared<std::vector<Tensor>>()) {
  for (const ir::Input& input : group.truth.inputs) {
    inputs_->push_back(filled(group.truth.values.at(static_cast<std::size_t>(input.value)), host));
  }
}

Bench::Run Bench::kernels(std::vector<std::shared_ptr<runtime::Kernel>> kernels) const {
  schedule::Plan part;
  part.graph = plan_.graph;
  part.graph.nodes.clear();
  part.graph.mutations.clear();
  part.graph.inputs.clear();
  part.graph.outputs.clear();
  for (const ir::ValueId in : group_.inputs) part.graph.inputs.push_back({in, ir::InputKind::user, ""});
  for (const ir::ValueId out : group_.outputs) part.graph.outputs.push_back({out, Arg{}, ir::no_value});
  for (const std::int32_t r : group_.regions) part.regions.push_back(plan_.regions[static_cast<std::size_t>(r)]);
  const std::vector<bool> bound(group_.inputs.size(), false);
  const std::shared_ptr<runtime::Program> program = runtime::make_program(part, std::move(kernels), bound, host_);
  return [program, inputs = inputs_] { (void)program->run(*inputs); };
}

Bench::Run Bench::eager() const {
  const auto interpreter = std::make_shared<runtime::Interpreter>(group_.truth, host_);
  return [interpreter, inputs = inputs_] { (void)interpreter->run(*inputs); };
}

double Bench::seconds(const Run& run, int times) const {
  const auto start = Clock::now();
  for (int i = 0; i < times; ++i) run();
  if (device_.type == DeviceType::cuda) jit::synchronize(host_.current_stream(device_));
  return std::chrono::duration<double>(Clock::now() - start).count() / times;
}

Bench::Times Bench::compare(const Run& first, const Run& second, double budget_s) const {
  constexpr int most_samples = 15;
  const double once = seconds(first, 1) + seconds(second, 1);
  const int batch = std::clamp(static_cast<int>(budget_s / most_samples / std::max(once, 1e-7)), 1, 20);
  const auto deadline = Clock::now() + std::chrono::duration<double>(budget_s);
  std::vector<double> a, b;
  while (a.size() < 3 || (a.size() < most_samples && Clock::now() < deadline)) {
    a.push_back(seconds(first, batch));
    b.push_back(seconds(second, batch));
  }
  return {least(a) * 1e6, least(b) * 1e6};
}

}  // namespace cudaagent
