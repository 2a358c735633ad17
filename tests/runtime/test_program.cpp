#include <gtest/gtest.h>

#include <thread>

#include "runtime/toy_plan.h"

namespace cudaagent::runtime {
namespace {

using testing::add_both;
using testing::add_one;
using testing::arg;
using testing::PlainHost;
using testing::ref;
using testing::ToyPlan;
using Values = std::vector<double>;

struct ProgramTest : ::testing::Test {
  Tensor floats(const Values& values) {
    return host.make(DType::f32, {static_cast<std::int64_t>(values.size())}, values);
  }
  std::vector<Tensor> run(Program& program, std::vector<Tensor> inputs) { return program.run(inputs); }
  PlainHost host;
  ToyPlan toy;
};

TEST_F(ProgramTest, KernelsAndOperatorsInOrder) {
  const ir::ValueId x = toy.input(DType::f32, {4});
  const ir::ValueId a = toy.value(DType::f32, {4});
  toy.generated(add_one, {x}, {a}, 4);
  const ir::ValueId b = toy.external("aten::neg", {ref("self", a)}, DType::f32, {4});
  const ir::ValueId c = toy.value(DType::f32, {4});
  toy.generated(add_both, {a, b}, {c}, 4);
  toy.output(b);
  toy.output(c);
  const auto program = toy.program(host);
  const auto outputs = run(*program, {floats({1, 2, 3, 4})});
  EXPECT_EQ(host.values(outputs[0]), (Values{-2, -3, -4, -5}));
  EXPECT_EQ(host.values(outputs[1]), (Values{0, 0, 0, 0}));
}

TEST_F(ProgramTest, ViewsOfIntermediatesReachKernelsAndOperators) {
  const ir::ValueId x = toy.input(DType::f32, {6});
  const ir::ValueId a = toy.value(DType::f32, {6});
  toy.generated(add_one, {x}, {a}, 6);
  const ir::ValueId tail = toy.view(a, {4}, {1}, 2);
  const ir::ValueId last = toy.view(tail, {2}, {1}, 2);
  const ir::ValueId b = toy.value(DType::f32, {2});
  toy.generated(add_one, {last}, {b}, 2);
  const ir::ValueId c = toy.external("aten::neg", {ref("self", last)}, DType::f32, {2});
  toy.output(b);
  toy.output(c);
  const auto program = toy.program(host);
  const auto outputs = run(*program, {floats({0, 1, 2, 3, 4, 5})});
  EXPECT_EQ(host.values(outputs[0]), (Values{6, 7}));
  EXPECT_EQ(host.values(outputs[1]), (Values{-5, -6}));
}

TEST_F(ProgramTest, ScratchIsZeroedAtEveryCall) {
  const auto kernel = [](void* const* args, std::int64_t begin, std::int64_t end) {
    auto* count = static_cast<std::int32_t*>(args[2]);
    for (std::int64_t i = begin; i < end; ++i) static_cast<float*>(args[1])[i] = static_cast<float>(++*count);
  };
  const ir::ValueId x = toy.input(DType::f32, {3});
  const ir::ValueId y = toy.value(DType::f32, {3});
  toy.generated(kernel, {x}, {y}, 1, {{64, true}});
  toy.output(y);
  const auto program = toy.program(host);
  for (int call = 0; call < 3; ++call) EXPECT_EQ(host.values(run(*program, {floats({0, 0, 0})})[0])[0], 1);
}

TEST_F(ProgramTest, BoundInputsAreReplacedByBind) {
  toy.input(DType::f32, {2});
  const ir::ValueId weight = toy.input(DType::f32, {2}, ir::InputKind::parameter);
  const ir::ValueId y = toy.value(DType::f32, {2});
  toy.generated(add_both, {0, weight}, {y}, 2);
  toy.output(y);
  const auto program = toy.program(host, {false, true});
  EXPECT_THROW(run(*program, {floats({1, 2})}), UserError);
  program->bind({floats({10, 20})});
  EXPECT_EQ(host.values(run(*program, {floats({1, 2})})[0]), (Values{11, 22}));
  program->bind({floats({30, 40})});
  EXPECT_EQ(host.values(run(*program, {floats({1, 2})})[0]), (Values{31, 42}));
  EXPECT_THROW(program->bind({}), UserError);
  EXPECT_THROW(run(*program, {floats({1, 2}), floats({1, 2})}), UserError);
}

TEST_F(ProgramTest, OtherTypesFailTheGuard) {
  const ir::ValueId x = toy.input(DType::f32, {2});
  toy.output(toy.external("aten::neg", {ref("self", x)}, DType::f32, {2}));
  const auto program = toy.program(host);
  EXPECT_THROW(run(*program, {floats({1, 2, 3})}), GuardFailure);
  EXPECT_THROW(run(*program, {host.make(DType::f64, {2}, {1, 2})}), GuardFailure);
  EXPECT_THROW(run(*program, {Tensor()}), GuardFailure);
  EXPECT_EQ(host.values(run(*program, {floats({1, 2})})[0]), (Values{-1, -2}));
}

TEST_F(ProgramTest, UpdatesAreWrittenAfterEveryRead) {
  const ir::ValueId x = toy.input(DType::f32, {2});
  const ir::ValueId state = toy.input(DType::f32, {2}, ir::InputKind::buffer);
  const ir::ValueId next = toy.value(DType::f32, {2});
  toy.generated(add_both, {x, state}, {next}, 2);
  const ir::ValueId y = toy.external("aten::neg", {ref("self", state)}, DType::f32, {2});
  toy.update(state, next);
  toy.output(y);
  toy.output(state);  // cloned by the model: the contents from before the update
  const auto program = toy.program(host);
  const Tensor buffer = floats({10, 20});
  const std::int64_t version = host.version(buffer);
  const auto outputs = run(*program, {floats({1, 2}), buffer});
  EXPECT_EQ(host.values(outputs[0]), (Values{-10, -20}));
  EXPECT_EQ(host.values(outputs[1]), (Values{10, 20}));
  EXPECT_EQ(host.values(buffer), (Values{11, 22}));
  EXPECT_EQ(host.version(buffer), version + 1);
}

TEST_F(ProgramTest, SwappedInputsAreCopiedFirst) {
  const ir::ValueId a = toy.input(DType::f32, {2});
  const ir::ValueId b = toy.input(DType::f32, {2});
  toy.update(a, b);
  toy.update(b, a);
  const auto program = toy.program(host);
  const Tensor left = floats({1, 2}), right = floats({3, 4});
  run(*program, {left, right});
  EXPECT_EQ(host.values(left), (Values{3, 4}));
  EXPECT_EQ(host.values(right), (Values{1, 2}));
}

TEST_F(ProgramTest, UpdatedInputThatOverlapsAnotherFailsTheGuard) {
  const ir::ValueId x = toy.input(DType::f32, {2});
  const ir::ValueId state = toy.input(DType::f32, {2}, ir::InputKind::buffer);
  const ir::ValueId next = toy.value(DType::f32, {2});
  toy.generated(add_both, {x, state}, {next}, 2);
  toy.update(state, next);
  const Tensor storage = floats({1, 2, 3});
  const TensorType pair{DType::f32, {2}, {1}, {}};
  const Tensor head = host.view(storage, pair, 0), tail = host.view(storage, pair, 4);
  for (const bool bound : {false, true}) {
    const auto program = toy.program(host, {false, bound});
    if (bound) {
      program->bind({head});
      EXPECT_THROW(run(*program, {tail}), GuardFailure);
      run(*program, {floats({0, 0})});
    } else {
      EXPECT_THROW(run(*program, {tail, head}), GuardFailure);
      EXPECT_THROW(run(*program, {head, head}), GuardFailure);
    }
    EXPECT_EQ(host.values(storage), (Values{1, 2, 3}));
  }
}

TEST_F(ProgramTest, BoundOverlapIsFoundAtBind) {
  const ir::ValueId a = toy.input(DType::f32, {2}, ir::InputKind::buffer);
  const ir::ValueId b = toy.input(DType::f32, {2}, ir::InputKind::buffer);
  const ir::ValueId c = toy.input(DType::f32, {2}, ir::InputKind::parameter);
  const ir::ValueId next = toy.value(DType::f32, {2});
  toy.generated(add_both, {a, b}, {next}, 2);
  toy.update(a, next);
  toy.output(toy.external("aten::neg", {ref("self", c)}, DType::f32, {2}));
  const auto program = toy.program(host, {true, true, true});
  const Tensor one = floats({1, 2}), two = floats({3, 4});
  program->bind({one, two, two});  // only read: sharing is harmless
  run(*program, {});
  program->bind({one, one, two});
  EXPECT_THROW(run(*program, {}), GuardFailure);
}

TEST_F(ProgramTest, OutputsAliasInputsAsEagerDoes) {
  const ir::ValueId x = toy.input(DType::f32, {4});
  toy.aliased_output(x, x);
  toy.aliased_output(toy.view(x, {2}, {1}, 2), x);
  toy.output(toy.view(x, {2}, {2}, 0));        // made fresh by the model
  toy.output(toy.view(x, {3, 2}, {0, 1}, 1));  // the same of an expanded value: its memory is copied once
  const auto program = toy.program(host);
  const Tensor storage = floats({0, 1, 2, 3, 4, 5});
  const Tensor input = host.view(storage, {DType::f32, {4}, {1}, {}}, 8);
  const auto outputs = run(*program, {input});
  EXPECT_EQ(outputs[0].get(), input.get());
  EXPECT_EQ(host.values(outputs[1]), (Values{4, 5}));
  EXPECT_EQ(host.data(outputs[1]), static_cast<float*>(host.data(input)) + 2);
  EXPECT_EQ(host.values(outputs[2]), (Values{2, 4}));
  EXPECT_NE(host.data(outputs[2]), host.data(input));
  EXPECT_EQ(host.values(outputs[3]), (Values{3, 4, 3, 4, 3, 4}));
  EXPECT_NE(host.data(outputs[3]), static_cast<float*>(host.data(input)) + 1);
}

TEST_F(ProgramTest, OutputOfAnUpdatedInputIsTheInput) {
  const ir::ValueId x = toy.input(DType::f32, {4});
  const ir::ValueId next = toy.value(DType::f32, {4});
  toy.generated(add_one, {x}, {next}, 4);
  toy.update(x, next);
  toy.aliased_output(next, x);
  toy.aliased_output(toy.view(next, {2}, {1}, 1), x);
  const auto program = toy.program(host);
  const Tensor input = floats({1, 2, 3, 4});
  const auto outputs = run(*program, {input});
  EXPECT_EQ(outputs[0].get(), input.get());
  EXPECT_EQ(host.values(outputs[1]), (Values{3, 4}));
  EXPECT_EQ(host.data(outputs[1]), static_cast<float*>(host.data(input)) + 1);
}

TEST_F(ProgramTest, AliasThatNoViewExpressesIsRefused) {
  const ir::ValueId x = toy.input(DType::f32, {4});
  const ir::ValueId next = toy.value(DType::f32, {4});
  toy.generated(add_one, {x}, {next}, 4);
  const ir::ValueId part = toy.value(DType::f32, {2});
  toy.generated(add_one, {x}, {part}, 2);
  toy.update(x, next);
  toy.aliased_output(part, x);
  EXPECT_THROW(toy.program(host), UserError);
}

TEST_F(ProgramTest, OneValueReturnedTwiceIsOneTensorAndConstantsAreUndefined) {
  const ir::ValueId x = toy.input(DType::f32, {2});
  const ir::ValueId y = toy.value(DType::f32, {2});
  toy.generated(add_one, {x}, {y}, 2);
  toy.output(y);
  toy.graph.outputs.push_back({ir::no_value, {std::int64_t{3}}, ir::no_value});
  toy.output(y);
  const auto program = toy.program(host);
  const auto outputs = run(*program, {floats({1, 2})});
  EXPECT_EQ(outputs[0].get(), outputs[2].get());
  EXPECT_FALSE(outputs[1]);
}

TEST_F(ProgramTest, EmptyTensorsLaunchNothing) {
  const ir::ValueId x = toy.input(DType::f32, {0, 3});
  const ir::ValueId y = toy.value(DType::f32, {0, 3});
  const auto never = [](void* const*, std::int64_t, std::int64_t) { ADD_FAILURE() << "launched"; };
  toy.generated(never, {x}, {y}, 0);
  toy.output(y);
  const auto program = toy.program(host);
  const auto outputs = run(*program, {host.make(DType::f32, {0, 3}, {})});
  EXPECT_EQ(host.type(outputs[0]).dims, (std::vector<std::int64_t>{0, 3}));
}

TEST_F(ProgramTest, OperatorResultsOfAnotherLayoutAreCopiedForKernels) {
  // The plan says f32, the operator makes f64.
  const ir::ValueId x = toy.input(DType::f64, {3});
  const ir::ValueId y = toy.external("aten::neg", {ref("self", x)}, DType::f32, {3});
  const ir::ValueId z = toy.value(DType::f32, {3});
  toy.generated(add_one, {y}, {z}, 3);
  toy.output(z);
  const auto program = toy.program(host);
  const auto outputs = run(*program, {host.make(DType::f64, {3}, {1, 2, 3})});
  EXPECT_EQ(host.values(outputs[0]), (Values{0, -1, -2}));
}

TEST_F(ProgramTest, LongLoopsRunInChunks) {
  const ir::ValueId x = toy.input(DType::f32, {1000});
  const ir::ValueId y = toy.value(DType::f32, {1000});
  toy.generated(add_one, {x}, {y}, 1000);
  toy.output(y);
  const auto program = toy.program(host);
  const auto outputs = run(*program, {floats(Values(1000, 4))});
  EXPECT_EQ(host.values(outputs[0]), Values(1000, 5));
}

TEST_F(ProgramTest, SpentResultsAreFreedAndNothingLeaks) {
  const std::int64_t before = PlainHost::live_storages();
  {
    ir::ValueId last = toy.input(DType::f32, {8});
    for (int i = 0; i < 10; ++i) last = toy.external("aten::neg", {ref("self", last)}, DType::f32, {8});
    const ir::ValueId y = toy.value(DType::f32, {8});
    const auto peak = [](void* const* args, std::int64_t begin, std::int64_t end) {
      // The input, the last result and the output: nothing else is alive.
      for (std::int64_t i = begin; i < end; ++i) {
        static_cast<float*>(args[1])[i] = static_cast<float>(PlainHost::live_storages());
      }
    };
    toy.generated(peak, {last}, {y}, 8);
    toy.output(y);
    const auto program = toy.program(host);
    const auto outputs = run(*program, {floats(Values(8, 1))});
    EXPECT_EQ(host.values(outputs[0])[0], static_cast<double>(before + 3));
  }
  EXPECT_EQ(PlainHost::live_storages(), before);
}

TEST_F(ProgramTest, SeveralThreadsShareAProgram) {
  const ir::ValueId x = toy.input(DType::f32, {64});
  const ir::ValueId w = toy.input(DType::f32, {64}, ir::InputKind::parameter);
  const ir::ValueId a = toy.value(DType::f32, {64});
  toy.generated(add_both, {x, w}, {a}, 64);
  const ir::ValueId b = toy.external("aten::neg", {ref("self", a)}, DType::f32, {64});
  const ir::ValueId c = toy.value(DType::f32, {64});
  toy.generated(add_both, {a, b}, {c}, 64);
  const ir::ValueId d = toy.value(DType::f32, {64});
  toy.generated(add_both, {c, x}, {d}, 64);
  toy.output(d);
  const auto program = toy.program(host, {false, true});
  program->bind({floats(Values(64, 1))});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int call = 0; call < 200; ++call) {
        const auto outputs = run(*program, {floats(Values(64, t))});
        if (host.values(outputs[0]) != Values(64, t)) ++wrong;
        if (call % 50 == 0) program->bind({floats(Values(64, call))});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(ProgramTest, MissingKernelIsABug) {
  const ir::ValueId x = toy.input(DType::f32, {2});
  const ir::ValueId y = toy.value(DType::f32, {2});
  toy.generated(add_one, {x}, {y}, 2);
  toy.output(y);
  EXPECT_THROW(make_program(toy.plan(), {nullptr}, {false}, host), InternalError);
}

}  // namespace
}  // namespace cudaagent::runtime
