// The operators on the path of every call, in the boxed convention.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/stack.h>

namespace cudaagent::bridge {

/// run(int handle, Tensor[] inputs) -> Tensor?[]
void run_program(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// profile_nodes(str graph_json, Tensor[] inputs, int calls) -> str: JSON, for each call the seconds of each node on
/// the caller's thread. Each node is a range "cudaagent::node <index>" of the host's profiler.
void profile_nodes(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// interpret(str graph_json, Tensor[] inputs) -> Tensor?[]
void interpret_graph(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace cudaagent::bridge
