#include "torch_bridge/run_op.h"

#include <ATen/core/jit_type.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>

#include <chrono>

#include "torch_bridge/aten_host.h"
#include "torch_bridge/aten_types.h"
#include "torch_bridge/dispatch_guards.h"
#include "torch_bridge/errors.h"
#include "torch_bridge/programs.h"

namespace cudaagent::bridge {

namespace {

std::vector<Tensor> pop_tensors(torch::jit::Stack& stack) {
  const c10::IValue list = torch::jit::pop(stack);
  std::vector<Tensor> tensors;
  tensors.reserve(list.toListRef().size());
  for (const c10::IValue& item : list.toListRef()) tensors.push_back(from_aten(item.toTensor()));
  return tensors;
}

// Constants of the graph come back as None.
void push_tensors(torch::jit::Stack& stack, std::vector<Tensor> tensors) {
  static const c10::TypePtr element = c10::OptionalType::ofTensor();
  c10::impl::GenericList list(element);
  list.reserve(tensors.size());
  for (Tensor& tensor : tensors) {
    if (!tensor) {
      list.push_back(c10::IValue());
      continue;
    }
    using Impl = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
    list.push_back(at::Tensor(Impl::reclaim(static_cast<c10::TensorImpl*>(tensor.release()))));
  }
  torch::jit::push(stack, std::move(list));
}

void refuse_gradients(const std::vector<Tensor>& inputs, const LoadedProgram& loaded) {
  if (!c10::GradMode::is_enabled()) return;
  const auto needs = [](const Tensor& tensor) { return tensor && impl_of(tensor)->requires_grad(); };
  bool any = std::any_of(inputs.begin(), inputs.end(), needs);
  if (const auto bound = loaded.bound.load(); !any && bound) any = std::any_of(bound->begin(), bound->end(), needs);
  TORCH_CHECK(!any,
              "cudaagent: this program records no gradients; call it under torch.no_grad() or "
              "torch.inference_mode(), or let the optimized module fall back to PyTorch");
}

}  // namespace

void run_program(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  translate_errors([&] {
    const std::vector<Tensor> inputs = pop_tensors(*stack);
    const std::shared_ptr<LoadedProgram> loaded = Programs::get().find(torch::jit::pop(*stack).toInt());
    refuse_gradients(inputs, *loaded);
    const PlainDispatch plain;
    c10::OptionalDeviceGuard device;
    if (loaded->device.type == DeviceType::cuda) device.reset_device(aten_device(loaded->device));
    push_tensors(*stack, loaded->program->run(inputs));
  });
}

void interpret_graph(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  translate_errors([&] {
    const std::vector<Tensor> inputs = pop_tensors(*stack);
    const auto graph = parse_json(torch::jit::pop(*stack).toStringRef(), "the graph").get<ir::Graph>();
    const PlainDispatch plain;
    push_tensors(*stack, runtime::interpret(graph, inputs, AtenHost::get()));
  });
}

void profile_nodes(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  translate_errors([&] {
    const std::int64_t calls = torch::jit::pop(*stack).toInt();
    const std::vector<Tensor> inputs = pop_tensors(*stack);
    const auto graph = parse_json(torch::jit::pop(*stack).toStringRef(), "the graph").get<ir::Graph>();
    const PlainDispatch plain;
    AtenHost& host = AtenHost::get();
    const runtime::Interpreter interpreter(graph, host);
    Json seconds = Json::array();
    for (std::int64_t c = 0; c < calls; ++c) {
      std::vector<double> nodes(graph.nodes.size(), 0);
      (void)interpreter.run(inputs, [&](std::size_t n, const std::function<void()>& call) {
        const auto range = host.profile_range("cudaagent::node " + std::to_string(n));
        const auto begin = std::chrono::steady_clock::now();
        call();
        nodes[n] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      });
      seconds.push_back(nodes);
    }
    torch::jit::push(*stack, seconds.dump());
  });
}

}  // namespace cudaagent::bridge
