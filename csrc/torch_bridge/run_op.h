// The operators on the path of every call, in the boxed convention.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/stack.h>

namespace cudaagent::bridge {

/// run(int handle, Tensor[] inputs) -> Tensor?[]
void run_program(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// interpret(str graph_json, Tensor[] inputs) -> Tensor?[]
void interpret_graph(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace cudaagent::bridge
