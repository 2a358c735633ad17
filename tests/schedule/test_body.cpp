#include <nlohmann/json.hpp>

#include "schedule/planned.h"

namespace cudaagent::schedule {
namespace {

TEST(BuildBody, SaysWhyThereIsNone) {
  PrimBuilder b;
  const ValueId x = b.input(DType::f32, {4, 5});
  const ValueId rows = b.reduce("sum", x, {1}), columns = b.reduce("sum", x, {0});
  const auto body = build_body(b.graph, {0, 1}, {rows, columns});
  ASSERT_FALSE(body.ok());
  EXPECT_EQ(body.rejection().stage, "schedule");
}

TEST(BuildBody, JsonRoundTripKeepsTheFingerprint) {
  PrimBuilder b;
  const ValueId y = softmax(b, b.input(DType::f16, {4, 5}), 1);
  const Body body = build_body(b.graph, {0, 1, 2, 3, 4}, {y}).value();
  const Json json = body;
  const Body back = Json::parse(json.dump()).get<Body>();
  EXPECT_EQ(fingerprint(back), fingerprint(body));
  EXPECT_EQ(Json(back), json);
}

TEST(BuildBody, FingerprintForgetsValueIds) {
  PrimBuilder a, b;
  b.input(DType::f32, {1});
  const ValueId x = a.input(DType::f32, {4}), y = b.input(DType::f32, {4});
  const auto one = build_body(a.graph, {0}, {(a.map("exp", x), a.graph.nodes[0].outputs[0])}).value();
  const auto two = build_body(b.graph, {0}, {(b.map("exp", y), b.graph.nodes[0].outputs[0])}).value();
  EXPECT_EQ(fingerprint(one), fingerprint(two));
}

}  // namespace
}  // namespace cudaagent::schedule
