#include "torch_bridge/extern_call.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include "torch_bridge/arguments.h"
#include "torch_bridge/aten_types.h"

namespace cudaagent::bridge {

namespace {

c10::OperatorHandle find_operator(const std::string& op) {
  const std::size_t space = op.find("::");
  const std::size_t dot = op.find('.', space == std::string::npos ? 0 : space);
  const std::string overload = dot == std::string::npos ? "" : op.substr(dot + 1);
  auto handle = c10::Dispatcher::singleton().findSchema({op.substr(0, dot), overload == "default" ? "" : overload});
  if (!handle) {
    throw UserError("operator " + op + " is not registered in this process; import the package that defines it");
  }
  return *handle;
}

void flatten(c10::IValue&& value, std::vector<Tensor>& out) {
  if (value.isTensor()) {
    out.push_back(from_aten(std::move(value).toTensor()));
  } else if (value.isList()) {
    const auto list = value.toListRef();
    for (const c10::IValue& item : list) out.push_back(item.isTensor() ? from_aten(item.toTensor()) : Tensor());
  } else {
    out.emplace_back();
  }
}

class AtenCall : public ExternCall {
 public:
  AtenCall(c10::OperatorHandle op, const std::vector<NamedArg>& args) : op_(op), template_(op.schema(), args) {}

  std::vector<Tensor> run(std::span<const Tensor> inputs) override {
    torch::jit::Stack stack = template_.fill(inputs);
    op_.callBoxed(stack);
    std::vector<Tensor> returned;
    returned.reserve(stack.size());
    for (c10::IValue& value : stack) flatten(std::move(value), returned);
    return returned;
  }

 private:
  const c10::OperatorHandle op_;
  const StackTemplate template_;
};

}  // namespace

std::unique_ptr<ExternCall> prepare_extern(const std::string& op, const std::vector<NamedArg>& args) {
  return std::make_unique<AtenCall>(find_operator(op), args);
}

}  // namespace cudaagent::bridge
