#include <memory>

#include "runtime/builder.h"
#include "runtime/guards.h"
#include "runtime/runtime.h"
#include "runtime/shared_cell.h"

namespace cudaagent::runtime {

namespace {

class PlannedProgram : public Program {
 public:
  PlannedProgram(const schedule::Plan& plan, const std::vector<std::shared_ptr<Kernel>>& kernels,
                 const std::vector<bool>& bound, TensorHost& host)
      : host_(host), guards_(plan.graph, bound, host), print_(build(plan, kernels, host)) {
    bound_.store(std::make_shared<const Bound>());
  }

  void bind(std::vector<Tensor> bound) override {
    bound_.store(std::make_shared<const Bound>(guards_.inspect(std::move(bound))));
  }

  std::vector<Tensor> run(std::span<const Tensor> user_inputs) override {
    const std::shared_ptr<const Bound> bound = bound_.load();
    const std::vector<const Tensor*> inputs = guards_.gather(*bound, user_inputs);
    guards_.check(inputs, *bound);

    Frame frame(host_, print_.operands, inputs, print_.bases);
    for (const BaseId base : print_.located_inputs) frame.locate(base);
    if (print_.arena_bytes > 0) {
      frame.put(arena_base, host_.empty({DType::u8, {print_.arena_bytes}, {1}, print_.arena_device}));
      frame.locate(arena_base);
    }
    for (const auto& step : print_.steps) {
      step->run(frame);
      for (const BaseId base : step->spent_bases) frame.drop_base(base);
      for (const OperandId view : step->spent_views) frame.drop_view(view);
    }
    return finish(frame, inputs);
  }

 private:
  // Of an expanded value the memory is copied, not each place that looks into it.
  Tensor fresh_copy(Frame& frame, OperandId id) const {
    const TensorType& type = print_.operands[static_cast<std::size_t>(id)].type;
    TensorType memory = type;
    for (std::size_t d = 0; d < memory.dims.size(); ++d)
      if (memory.strides[d] == 0 && memory.dims[d] > 1) memory.dims[d] = 1;
    Tensor copy = host_.empty(memory);
    const Tensor& value = frame.operand(id);
    if (memory.dims == type.dims) {
      host_.copy(copy, value);
      return copy;
    }
    host_.copy(copy, host_.view(value, memory, host_.storage_offset_bytes(value)));
    return host_.view(copy, type, 0);
  }

  // Everything that reads an input as it was comes before the first update.
  std::vector<Tensor> finish(Frame& frame, const std::vector<const Tensor*>& inputs) const {
    std::vector<Tensor> outputs(print_.gives.size());
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const Give& give = print_.gives[o];
      if (give.kind == Give::Kind::copy) outputs[o] = fresh_copy(frame, give.operand);
      if (give.kind == Give::Kind::tensor) outputs[o] = frame.operand(give.operand);
    }
    std::vector<Tensor> sources;
    sources.reserve(print_.updates.size());
    for (const Update& update : print_.updates) {
      sources.push_back(update.copy_first ? fresh_copy(frame, update.operand) : frame.operand(update.operand));
    }
    for (std::size_t u = 0; u < sources.size(); ++u) host_.copy(*inputs[print_.updates[u].input], sources[u]);
    return outputs;
  }

  TensorHost& host_;
  const Guards guards_;
  const Blueprint print_;
  SharedCell<const Bound> bound_;
};

}  // namespace

std::unique_ptr<Program> make_program(const schedule::Plan& plan, std::vector<std::shared_ptr<Kernel>> kernels,
                                      std::vector<bool> bound, TensorHost& host) {
  return std::make_unique<PlannedProgram>(plan, kernels, bound, host);
}

}  // namespace cudaagent::runtime
