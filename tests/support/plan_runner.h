// Runs a Plan region by region with the body interpreter, and holds it against node-by-node evaluation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedule/schedule.h"
#include "support/prim_interpreter.h"

namespace cudaagent::testing {

/// Elements for an input, from a seed: whole numbers for integers, 0 or 1 for bool, normal otherwise.
Elements random_elements(const TensorType& type, std::uint64_t seed);

/// What "aten::external" of PrimBuilder computes: something of every operand.
std::vector<Elements> run_external(const ir::Graph& graph, const ir::Node& node, const std::vector<Elements>& operands);

/// Runs the plan on random inputs. Empty when every output and mutation has the value node-by-node evaluation gives and
/// every region finds its inputs materialised; else what went wrong.
std::string compare_plan(const schedule::Plan& plan, std::uint64_t seed);

}  // namespace cudaagent::testing
