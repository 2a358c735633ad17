#include <gtest/gtest.h>

#include <chrono>

#include "support/graph_builder.h"
#include "support/plain_host.h"
#include "verify/attack_kernels.h"
#include "verify/verify.h"

namespace cudaagent::verify {
namespace {

using cudaagent::testing::arg;
using cudaagent::testing::GraphBuilder;
using cudaagent::testing::PlainHost;
using cudaagent::testing::ref;

constexpr std::int64_t rows = 37, columns = 129;

Options test_options() {
  Options options;
  options.judge_path = CUDAAGENT_BINARY_DIR "/cudaagent-judge";
  options.cxx = "g++";
  options.prelude_dir = CUDAAGENT_SOURCE_DIR "/csrc/codegen/templates";
  options.verify_timeout_s = 20;
  options.seed = 11;
  return options;
}

/// All the kernels of attack_kernels.h, compiled once.
const jit::Binary& binary() {
  static const jit::Binary compiled = [] {
    codegen::Source source;
    source.text = cudaagent::testing::attack_kernels;
    return jit::compile(source, {codegen::Language::host, "native"}, test_options()).value();
  }();
  return compiled;
}

Step step(const std::string& kernel, std::int64_t count, int args = 2, std::vector<codegen::Scratch> scratch = {}) {
  Step made;
  codegen::Launch launch;
  launch.kernel = kernel;
  launch.count = count;
  launch.grain = 16;
  for (int i = 0; i < args; ++i) launch.args.push_back({codegen::KernelArg::Kind::buffer, i});
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    launch.args.push_back({codegen::KernelArg::Kind::scratch, static_cast<std::int32_t>(i)});
  }
  made.source.launches.push_back(launch);
  made.source.scratch = std::move(scratch);
  made.binary = binary();
  return made;
}

/// `kernel` as the one step from truth's one input to its one output.
Claim claim_of(const ir::Graph& truth, const std::string& kernel) {
  Claim claim;
  claim.truth = truth;
  claim.tensors = {truth.type(truth.inputs[0].value), truth.type(truth.outputs[0].value)};
  claim.inputs = {0};
  claim.outputs = {1};
  claim.steps = {step(kernel, claim.tensors[1].numel())};
  claim.bindings = {{0, 1}};
  return claim;
}

ir::Graph unary(const std::string& op, std::vector<NamedArg> args, DType in, DType out,
                std::vector<std::int64_t> dims) {
  GraphBuilder b;
  const ir::ValueId x = b.input(in, {rows, columns});
  args.insert(args.begin(), ref("self", x));
  b.output(b.node(op, std::move(args), out, std::move(dims)));
  return b.graph;
}

ir::Graph exponential() { return unary("aten::exp", {}, DType::f32, DType::f32, {rows, columns}); }
ir::Graph row_sum() {
  return unary("aten::sum.dim_IntList", {arg("dim", int_list({1}))}, DType::f32, DType::f32, {rows});
}
ir::Graph row_argmax() {
  return unary("aten::argmax", {arg("dim", {std::int64_t{-1}})}, DType::f32, DType::i64, {rows});
}
ir::Graph above_one() {
  return unary("aten::gt.Scalar", {arg("other", {1.0})}, DType::f32, DType::b8, {rows, columns});
}

class Judge : public ::testing::Test {
 protected:
  Verdict judge_one(const Claim& claim) { return judge({claim}, {}, options, host).at(0); }
  void expect_passes(const Claim& claim) {
    const Verdict verdict = judge_one(claim);
    EXPECT_EQ(verdict.status, Status::passed) << verdict.reason;
  }
  void expect_fails(const Claim& claim, const std::string& part) {
    const Verdict verdict = judge_one(claim);
    EXPECT_EQ(verdict.status, Status::failed) << claim.steps[0].source.launches[0].kernel;
    EXPECT_NE(verdict.reason.find(part), std::string::npos) << verdict.reason;
  }
  Options options = test_options();
  PlainHost host;
};

TEST_F(Judge, PassesARightKernel) {
  const Verdict verdict = judge_one(claim_of(exponential(), "right"));
  EXPECT_EQ(verdict.status, Status::passed) << verdict.reason;
  EXPECT_EQ(verdict.families.size(), 8u);
  EXPECT_EQ(verdict.reason, "");
  EXPECT_GT(verdict.families[0].eager_rms, 0);
  EXPECT_LT(verdict.families[0].rms, 1e-6);
}

TEST_F(Judge, FindsMemoryFaults) {
  expect_fails(claim_of(exponential(), "unwritten_tail"), "element 4772 was never written");
  expect_fails(claim_of(exponential(), "past_the_end"), "past the end of tensor 1");
  expect_fails(claim_of(exponential(), "before_the_start"), "before tensor 1");
  expect_fails(claim_of(exponential(), "mutates_input"), "input 0 was overwritten");
  expect_fails(claim_of(exponential(), "reads_poison"), "NaN or infinity differs");
}

TEST_F(Judge, FindsWrongNumbers) {
  expect_fails(claim_of(exponential(), "low_precision"), "relative RMS error");
  expect_fails(claim_of(exponential(), "one_bad_row"), "error");
  expect_fails(claim_of(exponential(), "swallows_nan"), "special inputs: NaN or infinity differs");
  expect_fails(claim_of(exponential(), "zeros"), "error");
  expect_fails(claim_of(exponential(), "remembers"), "error");
}

TEST_F(Judge, AFaultCostsOnlyItsOwnClaim) {
  options.verify_timeout_s = 1;
  std::vector<Claim> claims;
  for (const char* kernel : {"right", "hangs", "right", "crashes", "right", "exits", "right", "forges", "right"}) {
    claims.push_back(claim_of(exponential(), kernel));
  }
  const std::vector<Verdict> verdicts = judge(claims, {}, options, host);
  ASSERT_EQ(verdicts.size(), claims.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    EXPECT_EQ(verdicts[i].status, i % 2 ? Status::failed : Status::passed) << i << " " << verdicts[i].reason;
  }
  EXPECT_NE(verdicts[1].reason.find("did not finish within 1"), std::string::npos) << verdicts[1].reason;
  EXPECT_NE(verdicts[3].reason.find("crashed with signal 11"), std::string::npos) << verdicts[3].reason;
  EXPECT_NE(verdicts[5].reason.find("exit code 0"), std::string::npos) << verdicts[5].reason;
  EXPECT_NE(verdicts[7].reason.find("other than the judge"), std::string::npos) << verdicts[7].reason;
}

TEST_F(Judge, ReportsWhatDoesNotRepeat) {
  const Verdict verdict = judge_one(claim_of(exponential(), "drifts"));
  EXPECT_EQ(verdict.status, Status::passed) << verdict.reason;
  EXPECT_NE(verdict.reason.find("differ in their last bits"), std::string::npos) << verdict.reason;
}

TEST_F(Judge, Reductions) {
  expect_passes(claim_of(row_sum(), "sums"));
  expect_fails(claim_of(row_sum(), "sums_coarsely"), "error");
  expect_fails(claim_of(row_sum(), "sums_columns_short"), "error");
}

TEST_F(Judge, Indices) {
  expect_passes(claim_of(row_argmax(), "argmax_first"));
  expect_passes(claim_of(row_argmax(), "argmax_last"));  // ties: an equal value is as good
  expect_fails(claim_of(row_argmax(), "argmax_off"), "elements are wrong");
}

TEST_F(Judge, Bools) {
  expect_passes(claim_of(above_one(), "greater"));
  expect_fails(claim_of(above_one(), "greater_or_equal"), "integers inputs");
  expect_fails(claim_of(above_one(), "bool_of_two"), "holds the byte 2");
}

TEST_F(Judge, Integers) {
  GraphBuilder b;
  const ir::ValueId x = b.input(DType::i64, {rows, columns});
  b.output(b.node("aten::add.Tensor", {ref("self", x), ref("other", x)}, DType::i64, {rows, columns}));
  expect_passes(claim_of(b.graph, "twice"));
  expect_fails(claim_of(b.graph, "twice_unsigned"), "elements are wrong");
  // Where the range says that no negative comes, both are right.
  b.graph.values[0].range_hi = 5;
  expect_passes(claim_of(b.graph, "twice_unsigned"));
}

TEST_F(Judge, StridedInputs) {
  Claim claim = claim_of(exponential(), "transposed");
  claim.tensors[0].strides = {1, rows};
  expect_passes(claim);
  claim.steps[0].source.launches[0].kernel = "right";
  expect_fails(claim, "");
}

TEST_F(Judge, SeveralStepsAndScratch) {
  Claim claim = claim_of(exponential(), "copies");
  claim.tensors.push_back(claim.tensors[0]);  // an intermediate
  const std::int64_t bytes = rows * columns * 4;
  claim.steps.push_back(step("adds_scratch", rows * columns, 2, {{bytes, true}}));
  claim.bindings = {{0, 2}, {2, 1}};
  expect_passes(claim);
  claim.steps[1].source.scratch[0].zeroed = false;
  expect_fails(claim, "memory nobody wrote");
}

TEST_F(Judge, WithoutATruthNothingIsProved) {
  const Verdict verdict =
      judge_one(claim_of(unary("aten::mystery", {}, DType::f32, DType::f32, {rows, columns}), "right"));
  EXPECT_EQ(verdict.status, Status::untested);
  EXPECT_NE(verdict.reason.find("mystery"), std::string::npos) << verdict.reason;
}

TEST_F(Judge, AMissingProgramIsAUserError) {
  options.judge_path = "";
  EXPECT_THROW(judge_one(claim_of(exponential(), "right")), UserError);
  options.judge_path = "/nonexistent/cudaagent-judge";
  EXPECT_THROW(judge_one(claim_of(exponential(), "right")), UserError);
}

TEST_F(Judge, ABinaryThatDoesNotLoadFails) {
  Claim claim = claim_of(exponential(), "right");
  claim.steps[0].binary.image = "not a shared object";
  expect_fails(claim, "does not load");
  claim = claim_of(exponential(), "absent_kernel");
  expect_fails(claim, "does not load");
}

TEST_F(Judge, MediumAllowsWhatBf16Does) {
  options.precision = Precision::medium;
  expect_passes(claim_of(exponential(), "low_precision"));
}

TEST_F(Judge, NothingLeaks) {
  const std::int64_t before = PlainHost::live_tensors();
  judge_one(claim_of(exponential(), "right"));
  EXPECT_EQ(PlainHost::live_tensors(), before);
}

}  // namespace
}  // namespace cudaagent::verify
