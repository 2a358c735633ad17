// What the tests of this room ask of a graph.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"
#include "rewrite/rewrite.h"

namespace cudaagent::rewrite::testing {

inline std::vector<std::string> ops(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::Node& node : graph.nodes) names.push_back(node.op);
  return names;
}

inline int fired(const Result& result, const std::string& pass) {
  int count = 0;
  for (const Fired& entry : result.fired) count += entry.pass == pass ? entry.count : 0;
  return count;
}

}  // namespace cudaagent::rewrite::testing
