#include <gtest/gtest.h>

#include "runtime/toy_plan.h"

namespace cudaagent::runtime {
namespace {

using testing::GraphBuilder;
using testing::PlainHost;
using testing::ref;

TEST(Interpret, RunsNodeByNode) {
  PlainHost host;
  GraphBuilder builder;
  const ir::ValueId x = builder.input(DType::f32, {3});
  const ir::ValueId y = builder.node("aten::neg", {ref("self", x)}, DType::f32, {3});
  const ir::ValueId z = builder.node("aten::mul.Tensor", {ref("self", y), ref("other", y)}, DType::f32, {3});
  builder.output(z);
  builder.output(x);
  builder.graph.outputs.push_back({});
  const Tensor input = host.make(DType::f32, {3}, {1, 2, 3});
  const std::vector<Tensor> inputs{input};
  const auto outputs = interpret(builder.graph, inputs, host);
  EXPECT_EQ(host.values(outputs[0]), (std::vector<double>{1, 4, 9}));
  EXPECT_EQ(outputs[1].get(), input.get());
  EXPECT_FALSE(outputs[2]);
  EXPECT_THROW(interpret(builder.graph, {}, host), UserError);
}

TEST(Interpret, PreparesOnceAndFreesWhatIsSpent) {
  PlainHost host;
  GraphBuilder builder;
  ir::ValueId last = builder.input(DType::f32, {3});
  for (int i = 0; i < 5; ++i) last = builder.node("aten::neg", {ref("self", last)}, DType::f32, {3});
  builder.output(last);
  const Interpreter interpreter(builder.graph, host);
  const std::vector<Tensor> inputs{host.make(DType::f32, {3}, {1, 2, 3})};
  const std::int64_t before = PlainHost::live_storages();
  for (int call = 1; call <= 3; ++call) {
    EXPECT_EQ(host.values(interpreter.run(inputs)[0]), (std::vector<double>{-1, -2, -3}));
    EXPECT_EQ(host.calls, 5 * call);
  }
  EXPECT_EQ(PlainHost::live_storages(), before);
}

}  // namespace
}  // namespace cudaagent::runtime
