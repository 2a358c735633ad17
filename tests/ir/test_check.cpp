// Each rule of ir::check, broken once.
#include <gtest/gtest.h>

#include <functional>

#include "ir/ir.h"
#include "support/graph_builder.h"

namespace cudaagent::ir {
namespace {

using cudaagent::testing::arg;
using cudaagent::testing::GraphBuilder;
using cudaagent::testing::ref;

std::string broken_rule(const Graph& graph) {
  try {
    check(graph);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_BREAKS(graph, part) EXPECT_NE(broken_rule(graph).find(part), std::string::npos) << broken_rule(graph)

Graph sound() {
  GraphBuilder b;
  const ValueId x = b.input(DType::f32, {4, 8});
  const ValueId w = b.input(DType::f32, {8}, InputKind::parameter);
  const ValueId y = b.node("aten::add.Tensor", {ref("self", x), ref("other", w)}, DType::f32, {4, 8});
  b.output(y);
  return b.graph;
}

TEST(Check, AcceptsASoundGraph) { EXPECT_EQ(broken_rule(sound()), ""); }

TEST(Check, GraphRules) {
  const std::vector<std::pair<std::function<void(Graph&)>, const char*>> cases = {
      {[](Graph& g) { g.values[0].type.strides = {1}; }, "as many strides as dims"},
      {[](Graph& g) { g.values[0].type.dims = {-4, 8}; }, "no negative dim"},
      {[](Graph& g) { g.values[0].type.dims = {std::int64_t{1} << 40, std::int64_t{1} << 40}; }, "fewer than 2^63"},
      {[](Graph& g) { g.values[0].type.strides = {std::int64_t{1} << 60, 1}; }, "fewer than 2^59"},
      {[](Graph& g) { g.values[0].range_lo = 1; }, "ordered range"},
      {[](Graph& g) { g.inputs[1].value = 0; }, "one producer"},
      {[](Graph& g) { g.inputs[1].value = 99; }, "existing value"},
      {[](Graph& g) { g.nodes[0].outputs = {0}; }, "one producer"},
      {[](Graph& g) { g.nodes[0].op = "add"; }, "namespaced operator"},
      {[](Graph& g) { g.nodes[0].args[1].name = "self"; }, "each argument once"},
      {[](Graph& g) { g.nodes[0].args[1] = ref("other", 2); }, "after its definition"},
      {[](Graph& g) { g.inputs.pop_back(); }, "after its definition"},
      {[](Graph& g) { g.nodes.clear(); }, "after its definition"},
      {[](Graph& g) { g.outputs[0].alias_of = 2; }, "aliases an input"},
      {[](Graph& g) { g.mutations = {{2, 2}}; }, "is of an input"},
      {[](Graph& g) { g.mutations = {{0, 2}, {0, 2}}; }, "happens once"},
      {[](Graph& g) { g.mutations = {{1, 2}}; }, "keeps dtype and dims"},
  };
  for (const auto& [breaks, part] : cases) {
    Graph graph = sound();
    breaks(graph);
    EXPECT_BREAKS(graph, part);
  }
}

/// One primitive over x: f32[4, 8], i: i64[4, 8], m: b8[4, 8], r: f32[8] (values 0 to 3).
Graph prim(const std::string& op, std::vector<NamedArg> args, DType dtype, std::vector<std::int64_t> dims) {
  GraphBuilder b;
  b.input(DType::f32, {4, 8});
  b.input(DType::i64, {4, 8});
  b.input(DType::b8, {4, 8});
  b.input(DType::f32, {8});
  b.output(b.node(op, std::move(args), dtype, std::move(dims)));
  return b.graph;
}

const Arg one{std::int64_t{1}};

TEST(Check, Map) {
  EXPECT_EQ(broken_rule(prim("prim::add", {ref("a", 0), ref("b", 3)}, DType::f32, {4, 8})), "");
  EXPECT_EQ(broken_rule(prim("prim::add", {ref("a", 0), arg("b", {0.5})}, DType::f32, {4, 8})), "");
  EXPECT_EQ(broken_rule(prim("prim::lt", {ref("a", 0), ref("b", 3)}, DType::b8, {4, 8})), "");
  EXPECT_EQ(broken_rule(prim("prim::where", {ref("c", 2), ref("a", 0), arg("b", {0.0})}, DType::f32, {4, 8})), "");
  EXPECT_EQ(broken_rule(prim("prim::where", {ref("c", 2), arg("a", {1.0}), arg("b", {0.0})}, DType::f32, {4, 8})), "");
  EXPECT_BREAKS(prim("prim::add", {ref("a", 0)}, DType::f32, {4, 8}), "2 operands");
  EXPECT_BREAKS(prim("prim::add", {ref("a", 0), arg("b", {None{}})}, DType::f32, {4, 8}), "references and numbers");
  EXPECT_BREAKS(prim("prim::add", {ref("a", 0), ref("b", 1)}, DType::f32, {4, 8}), "one dtype");
  EXPECT_BREAKS(prim("prim::add", {ref("a", 0), ref("b", 3)}, DType::f32, {8}), "broadcast of its operands");
  EXPECT_BREAKS(prim("prim::add", {ref("a", 0), ref("b", 3)}, DType::f64, {4, 8}), "result dtype");
  EXPECT_BREAKS(prim("prim::lt", {ref("a", 0), ref("b", 3)}, DType::f32, {4, 8}), "result dtype");
  EXPECT_BREAKS(prim("prim::exp", {ref("a", 1)}, DType::i64, {4, 8}), "defined on");
  EXPECT_BREAKS(prim("prim::where", {ref("c", 0), ref("a", 0), ref("b", 0)}, DType::f32, {4, 8}), "bool condition");
  EXPECT_BREAKS(prim("prim::add", {arg("a", {0.5}), arg("b", {0.5})}, DType::f32, {}), "tensor operand");
  EXPECT_BREAKS(prim("prim::nonsense", {ref("a", 0)}, DType::f32, {4, 8}), "primitive of");
  EXPECT_BREAKS(prim("prim::convert", {ref("a", 0)}, DType::c64, {4, 8}), "templates cover");
  EXPECT_BREAKS(prim("prim::convert", {ref("a", 0)}, DType::f64, {8, 4}), "operand's dims");
}

TEST(Check, Generators) {
  EXPECT_EQ(broken_rule(prim("prim::full", {arg("value", {0.5})}, DType::f32, {4})), "");
  EXPECT_BREAKS(prim("prim::full", {arg("value", {None{}})}, DType::f32, {4}), "number as value");
  const auto iota = [](std::int64_t dim, DType dtype) {
    return prim("prim::iota", {arg("dim", {dim}), arg("start", one), arg("step", one)}, dtype, {4});
  };
  EXPECT_EQ(broken_rule(iota(0, DType::i64)), "");
  EXPECT_BREAKS(iota(1, DType::i64), "names dims");
  EXPECT_BREAKS(iota(0, DType::b8), "number's dtype");
}

Graph reduce(const std::string& kind, std::vector<std::int64_t> dims, bool keepdim, DType dtype,
             std::vector<std::int64_t> out) {
  return prim("prim::reduce",
              {ref("x", 0), arg("kind", {kind}), arg("dims", int_list(dims)), arg("keepdim", {keepdim})}, dtype,
              std::move(out));
}

TEST(Check, Reduce) {
  EXPECT_EQ(broken_rule(reduce("sum", {1}, false, DType::f32, {4})), "");
  EXPECT_EQ(broken_rule(reduce("argmax", {0, 1}, true, DType::i64, {1, 1})), "");
  EXPECT_BREAKS(reduce("sum", {}, false, DType::f32, {4, 8}), "not empty");
  EXPECT_BREAKS(reduce("sum", {1, 0}, false, DType::f32, {}), "ascend");
  EXPECT_BREAKS(reduce("sum", {-1}, false, DType::f32, {4}), "names dims");
  EXPECT_BREAKS(reduce("sum", {1}, true, DType::f32, {4}), "reduction leaves");
  EXPECT_BREAKS(reduce("mean", {1}, false, DType::f32, {4}), "known kind");
  EXPECT_BREAKS(reduce("any", {1}, false, DType::f32, {4}), "dtype of its kind");
}

Graph slice(std::int64_t start, std::int64_t step, std::vector<std::int64_t> out) {
  return prim("prim::slice", {ref("x", 0), arg("dim", one), arg("start", {start}), arg("step", {step})}, DType::f32,
              std::move(out));
}

TEST(Check, Views) {
  const auto view = [](const char* op, const char* name, std::vector<std::int64_t> list,
                       std::vector<std::int64_t> out) {
    return prim(op, {ref("x", 0), arg(name, int_list(list))}, DType::f32, std::move(out));
  };
  EXPECT_EQ(broken_rule(view("prim::permute", "dims", {1, 0}, {8, 4})), "");
  EXPECT_BREAKS(view("prim::permute", "dims", {1, 1}, {8, 4}), "every dim once");
  EXPECT_BREAKS(view("prim::permute", "dims", {1, 0}, {4, 8}), "permuted dims");
  EXPECT_EQ(broken_rule(view("prim::reshape", "shape", {32}, {32})), "");
  EXPECT_BREAKS(view("prim::reshape", "shape", {31}, {31}), "number of elements");
  EXPECT_BREAKS(view("prim::reshape", "shape", {-1}, {32}), "result's dims as shape");
  EXPECT_EQ(broken_rule(view("prim::expand", "shape", {2, 4, 8}, {2, 4, 8})), "");
  EXPECT_BREAKS(view("prim::expand", "shape", {8, 8}, {8, 8}), "broadcast");
  EXPECT_BREAKS(prim("prim::expand", {ref("x", 0), arg("shape", int_list({1, 8}))}, DType::f32, {1, 8}), "extent 1");
  EXPECT_EQ(broken_rule(slice(7, -1, {4, 8})), "");
  EXPECT_BREAKS(slice(1, 1, {4, 8}), "stays inside");
  EXPECT_BREAKS(slice(6, -1, {4, 8}), "stays inside");
  EXPECT_BREAKS(slice(0, 0, {4, 8}), "step that moves");
  EXPECT_BREAKS(slice(0, 1, {3, 8}), "other dims");
}

}  // namespace
}  // namespace cudaagent::ir
