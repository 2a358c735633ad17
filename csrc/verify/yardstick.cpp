#include "verify/yardstick.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "verify/families.h"
#include "verify/recast.h"

namespace cudaagent::verify {

namespace {

// Two terms that cancel may move together in one draw, so that the response looks small; in four they will not.
constexpr std::uint64_t draws = 4;
// Half of them leave a corner on its flat side.
constexpr std::uint64_t nudges = 8;

bool gives_indices(std::string_view op) {
  constexpr std::array<std::string_view, 5> ops = {"aten::argmax", "aten::argmin", "aten::max.dim", "aten::min.dim",
                                                   "aten::median.dim"};
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

void add_output(ir::Graph& graph, ir::ValueId value) { graph.outputs.push_back({value, {}, ir::no_value}); }

}  // namespace

Yardstick::Yardstick(const ir::Graph& truth, Precision precision, const Device& device, TensorHost& host)
    : device_(device), host_(host), outputs_(truth.outputs.size()), indices_(find_indices(truth)) {
  if (precision == Precision::medium) eager_dtype_ = DType::bf16;
  eager_ = std::make_unique<runtime::Interpreter>(eager_dtype_ ? recast(truth, *eager_dtype_) : truth, host);

  ir::Graph wide = recast(truth, DType::f64);
  const std::vector<std::int32_t> producer = ir::producers(wide);
  for (const Index& index : indices_) {
    const std::int32_t node = producer.at(static_cast<std::size_t>(wide.outputs[index.output].value));
    add_output(wide, find_arg(wide.nodes[static_cast<std::size_t>(node)].args, "self")->as<Ref>().id);
  }
  truth_ = std::make_unique<runtime::Interpreter>(wide, host);
}

std::vector<Yardstick::Index> Yardstick::find_indices(const ir::Graph& truth) const {
  std::vector<Index> found;
  const std::vector<std::int32_t> producer = ir::producers(truth);
  for (std::size_t o = 0; o < truth.outputs.size(); ++o) {
    const ir::ValueId value = truth.outputs[o].value;
    const std::int32_t maker = value == ir::no_value ? -1 : producer.at(static_cast<std::size_t>(value));
    if (maker < 0 || truth.type(value).dtype != DType::i64) continue;
    const ir::Node& node = truth.nodes[static_cast<std::size_t>(maker)];
    const Arg* self = find_arg(node.args, "self");
    if (!gives_indices(node.op) || !self || !self->is<Ref>()) continue;
    const TensorType& operand = truth.type(self->as<Ref>().id);
    Index index{o, outputs_ + found.size(), std::nullopt, operand.dtype};
    const Arg* dim = find_arg(node.args, "dim");
    if (dim && dim->is<std::int64_t>() && !operand.dims.empty()) {
      const std::int64_t given = dim->as<std::int64_t>();
      index.dim = given < 0 ? given + static_cast<std::int64_t>(operand.dims.size()) : given;
    }
    found.push_back(index);
  }
  return found;
}

Elements Yardstick::elements(const Tensor& tensor) const {
  return {static_cast<std::byte*>(host_.data(tensor)), host_.type(tensor)};
}

Tensor Yardstick::on_device(const Tensor& input, std::optional<DType> dtype) const {
  TensorType type = host_.type(input);
  const bool converts = dtype && is_float(type.dtype) && type.dtype != *dtype;
  if (!converts && device_.type == DeviceType::cpu) return input;
  if (converts) type.dtype = *dtype;
  type.device = device_;
  Tensor moved = host_.empty(type);
  host_.copy(moved, input);
  return moved;
}

Tensor Yardstick::on_cpu(const Tensor& tensor) const {
  TensorType type = host_.type(tensor);
  if (type.device.type == DeviceType::cpu) return tensor;
  type.device = {};
  type.strides = contiguous_strides(type.dims);
  Tensor moved = host_.empty(type);
  host_.copy(moved, tensor);
  return moved;
}

std::vector<Tensor> Yardstick::perturbed_inputs(std::span<const Tensor> inputs, double size, std::uint64_t seed) const {
  std::vector<Tensor> moved;
  for (const Tensor& input : inputs) {
    TensorType type = host_.type(input);
    if (!is_float(type.dtype)) {
      moved.push_back(on_device(input, std::nullopt));
      continue;
    }
    type.dtype = DType::f64;
    Tensor wide = host_.empty(type);
    perturb(elements(input), elements(wide), size, seed + moved.size(), host_);
    moved.push_back(on_device(wide, std::nullopt));
  }
  return moved;
}

std::vector<Tensor> Yardstick::perturbed_truth(std::span<const Tensor> inputs, double size, std::uint64_t seed) const {
  std::vector<Tensor> outputs = truth_->run(perturbed_inputs(inputs, size, seed));
  outputs.resize(outputs_);
  for (Tensor& output : outputs) output = on_cpu(output);
  return outputs;
}

void Yardstick::add_perturbed(std::vector<Answer>& answers, std::span<const Tensor> inputs, std::uint64_t seed) const {
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    const std::vector<Tensor> moved = perturbed_truth(inputs, perturbation, seed + 1000 * draw);
    for (std::size_t o = 0; o < outputs_; ++o) answers[o].perturbed.push_back(moved[o]);
  }
}

void Yardstick::add_nudged(std::vector<Answer>& answers, std::span<const Tensor> inputs, std::uint64_t seed) const {
  for (std::uint64_t draw = 0; draw < nudges; ++draw) {
    const std::vector<Tensor> moved = perturbed_truth(inputs, nudge, seed + 1000 * (draws + draw));
    for (std::size_t o = 0; o < outputs_; ++o) answers[o].nudged.push_back(moved[o]);
  }
}

std::vector<Answer> Yardstick::answer(std::span<const Tensor> inputs) const {
  std::vector<Tensor> own, wide;
  for (const Tensor& input : inputs) {
    own.push_back(on_device(input, eager_dtype_));
    wide.push_back(on_device(input, DType::f64));
  }
  const std::vector<Tensor> eager = eager_->run(own), truth = truth_->run(wide);
  std::vector<Answer> answers(outputs_);
  for (std::size_t o = 0; o < outputs_; ++o) {
    answers[o].eager = on_cpu(eager[o]);
    answers[o].truth = on_cpu(truth[o]);
  }
  for (const Index& index : indices_) {
    answers[index.output].pointed_at = on_cpu(truth[index.operand]);
    answers[index.output].dim = index.dim;
    answers[index.output].pointed_dtype = index.dtype;
  }
  return answers;
}

}  // namespace cudaagent::verify
