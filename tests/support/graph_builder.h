// Short spelling for graphs in tests.
#pragma once

#include <utility>

#include "ir/ir.h"

namespace cudaagent::testing {

class GraphBuilder {
 public:
  ir::ValueId value(DType dtype, std::vector<std::int64_t> dims) {
    ir::Value value;
    value.name = "v" + std::to_string(graph.values.size());
    value.type = {dtype, dims, contiguous_strides(dims), device};
    return graph.add_value(std::move(value));
  }
  ir::ValueId input(DType dtype, std::vector<std::int64_t> dims, ir::InputKind kind = ir::InputKind::user) {
    const ir::ValueId id = value(dtype, std::move(dims));
    graph.inputs.push_back({id, kind, ""});
    return id;
  }
  ir::ValueId node(const std::string& op, std::vector<NamedArg> args, DType dtype, std::vector<std::int64_t> dims) {
    const ir::ValueId id = value(dtype, std::move(dims));
    graph.nodes.push_back({op, std::move(args), {id}, -1, false});
    return id;
  }
  void output(ir::ValueId id) { graph.outputs.push_back({id, {}, ir::no_value}); }

  ir::Graph graph;
  Device device;
};

inline NamedArg arg(std::string name, Arg value) { return {std::move(name), std::move(value)}; }
inline NamedArg ref(std::string name, ir::ValueId id) { return {std::move(name), {Ref{id}}}; }

}  // namespace cudaagent::testing
