// What the tests of this room ask of a graph.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"
#include "rewrite/passes.h"
#include "rewrite/rewrite.h"

namespace cudaagent::rewrite::testing {

using Names = std::vector<std::string>;

inline Names ops(const ir::Graph& graph) {
  Names names;
  for (const ir::Node& node : graph.nodes) names.push_back(node.op);
  return names;
}

/// The graph after one pass, without what the pass made useless.
inline ir::Graph after(int (*pass)(ir::Graph&), ir::Graph& graph) {
  pass(graph);
  remove_dead(graph);
  ir::check(graph);
  return graph;
}

inline int fired(const Result& result, const std::string& pass) {
  int count = 0;
  for (const Fired& entry : result.fired) count += entry.pass == pass ? entry.count : 0;
  return count;
}

}  // namespace cudaagent::rewrite::testing
