// Random graphs of primitives: whatever is fused, every value stays what node-by-node evaluation gives.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "support/plan_runner.h"
#include "support/prim_builder.h"

namespace cudaagent::schedule {
namespace {

using ir::ValueId;
using testing::PrimBuilder;
using Dims = std::vector<std::int64_t>;

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed) {
    const int inputs = pick(1, 3);
    for (int i = 0; i < inputs; ++i) add_input();
    const int nodes = pick(3, 18);
    for (int i = 0; i < nodes; ++i) add_node();
    for (int i = pick(1, 3); i > 0; --i) builder_.output(any_value());
    builder_.output(values_.back());
  }

  const ir::Graph& graph() const { return builder_.graph; }

 private:
  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }
  ValueId any_value() {
    // Recent values more often, so that chains grow.
    const int back =
        std::min(pick(0, static_cast<int>(values_.size()) - 1), pick(0, static_cast<int>(values_.size()) - 1));
    return values_[values_.size() - 1 - static_cast<std::size_t>(back)];
  }
  const Dims& dims(ValueId v) const { return builder_.dims(v); }
  std::int64_t numel(ValueId v) const { return builder_.graph.type(v).numel(); }

  void add_input() {
    static const std::vector<Dims> shapes = {{4, 6},       {2, 3, 4}, {6, 4}, {12}, {4, 1}, {6},
                                             {2, 6, 2, 2}, {5, 5},    {1, 6}, {},   {3, 0}};
    const Dims& shape = shapes[static_cast<std::size_t>(pick(0, static_cast<int>(shapes.size()) - 1))];
    const ValueId x = builder_.input(DType::f64, shape);
    TensorType& type = builder_.graph.values[static_cast<std::size_t>(x)].type;
    if (shape.size() > 1 && pick(0, 2) == 0) std::swap(type.strides.front(), type.strides.back());
    if (shape.size() > 1 && type.strides != contiguous_strides(shape)) relayout(type);
    values_.push_back(x);
  }

  // Dense memory with the first and last dims exchanged, sometimes with gaps.
  void relayout(TensorType& type) {
    const std::int64_t gap = pick(1, 2);
    std::int64_t step = gap;
    type.strides.front() = step;
    step *= std::max<std::int64_t>(type.dims.front(), 1);
    for (std::size_t d = type.dims.size(); d-- > 1;) {
      type.strides[d] = step;
      step *= std::max<std::int64_t>(type.dims[d], 1);
    }
  }

  void add_node() {
    switch (pick(0, 12)) {
      case 0:
      case 1:
      case 2:
        return add_binary();
      case 3:
      case 4:
        return add_unary();
      case 5:
      case 6:
        return add_reduce();
      case 7:
        return add_permute();
      case 8:
        return add_reshape();
      case 9:
        return add_slice();
      case 10:
        return add_expand();
      case 11:
        return add_generator();
      default:
        return add_external();
    }
  }

  void add_unary() {
    static const std::vector<std::string> fns = {"neg", "tanh", "abs", "sigmoid", "floor"};
    values_.push_back(builder_.map(fns[static_cast<std::size_t>(pick(0, 4))], any_value()));
  }

  bool broadcasts(const Dims& a, const Dims& b) const {
    for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
      const std::int64_t x = a[a.size() - i], y = b[b.size() - i];
      if (x != y && x != 1 && y != 1) return false;
    }
    return true;
  }

  void add_binary() {
    static const std::vector<std::string> fns = {"add", "sub", "mul", "max"};
    const std::string fn = fns[static_cast<std::size_t>(pick(0, 3))];
    const ValueId a = any_value();
    for (int tries = 0; tries < 6; ++tries) {
      const ValueId b = any_value();
      if (!broadcasts(dims(a), dims(b)) || numel(a) * numel(b) > 40000) continue;
      values_.push_back(builder_.map(fn, a, b));
      return;
    }
    values_.push_back(builder_.map(fn, a, 0.5));
  }

  void add_reduce() {
    static const std::vector<std::string> kinds = {"sum", "max", "min", "sum"};
    const ValueId x = any_value();
    if (dims(x).empty() || numel(x) == 0) return add_unary();
    Dims over;
    for (std::size_t d = 0; d < dims(x).size(); ++d) {
      if (pick(0, 1)) over.push_back(static_cast<std::int64_t>(d));
    }
    if (over.empty()) over.push_back(static_cast<std::int64_t>(dims(x).size()) - 1);
    const bool keepdim = pick(0, 3) != 0;
    if (pick(0, 7) == 0) {
      values_.push_back(builder_.convert(builder_.reduce("argmax", x, over, keepdim), DType::f64));
    } else {
      values_.push_back(builder_.reduce(kinds[static_cast<std::size_t>(pick(0, 3))], x, over, keepdim));
    }
  }

  void add_permute() {
    const ValueId x = any_value();
    Dims order(dims(x).size());
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = static_cast<std::int64_t>(d);
    std::shuffle(order.begin(), order.end(), random_);
    values_.push_back(builder_.permute(x, order));
  }

  void add_reshape() {
    const ValueId x = any_value();
    Dims shape;
    std::int64_t rest = numel(x);
    while (rest > 1) {
      Dims divisors;
      for (std::int64_t d = 2; d <= rest; ++d) {
        if (rest % d == 0) divisors.push_back(d);
      }
      const std::int64_t d = divisors[static_cast<std::size_t>(pick(0, static_cast<int>(divisors.size()) - 1))];
      shape.push_back(d);
      rest /= d;
    }
    if (rest == 0) shape = {0};
    if (pick(0, 4) == 0) shape.push_back(1);
    values_.push_back(builder_.reshape(x, shape));
  }

  void add_slice() {
    const ValueId x = any_value();
    if (dims(x).empty()) return add_unary();
    const int dim = pick(0, static_cast<int>(dims(x).size()) - 1);
    const auto extent = static_cast<int>(dims(x)[static_cast<std::size_t>(dim)]);
    if (extent == 0) return add_unary();
    if (pick(0, 3) == 0) {
      values_.push_back(builder_.slice(x, dim, extent - 1, -1, extent));
      return;
    }
    const int start = pick(0, extent - 1), step = pick(1, 2);
    values_.push_back(builder_.slice(x, dim, start, step, pick(1, (extent - start + step - 1) / step)));
  }

  void add_expand() {
    const ValueId x = any_value();
    if (numel(x) > 300) return add_unary();
    Dims shape = dims(x);
    for (std::int64_t& d : shape) {
      if (d == 1) d = pick(1, 4);
    }
    if (pick(0, 1)) shape.insert(shape.begin(), pick(1, 3));
    values_.push_back(builder_.expand(x, shape));
  }

  void add_generator() {
    const Dims shape = dims(any_value());
    if (shape.empty() || pick(0, 1)) {
      values_.push_back(builder_.full(1.5, DType::f64, shape));
      return;
    }
    const int dim = pick(0, static_cast<int>(shape.size()) - 1);
    values_.push_back(builder_.iota(shape, dim, DType::f64, Arg{0.5}, Arg{std::int64_t{2}}));
  }

  void add_external() {
    const ValueId a = any_value(), b = any_value();
    values_.push_back(builder_.external({a, b}, DType::f64, dims(a)));
  }

  std::mt19937_64 random_;
  PrimBuilder builder_;
  std::vector<ValueId> values_;
};

TEST(RandomGraphs, PlansComputeWhatTheGraphSays) {
  // Other graphs with --gtest_random_seed=N.
  const std::uint64_t first = 1500 * static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
  for (std::uint64_t seed = first; seed < first + 1500; ++seed) {
    const RandomGraph random(seed);
    ir::check(random.graph());
    const Machine machine = seed % 3 == 0 ? Machine{DeviceType::cuda, 132, 64} : Machine{DeviceType::cpu, 2, 1 << 20};
    const Plan plan = schedule(random.graph(), machine, {});
    ir::check(plan.graph);
    ASSERT_EQ(testing::compare_plan(plan, seed), "") << "seed " << seed << "\n" << ir::print(plan.graph);
    for (const Region& region : plan.regions) {
      if (region.kind != RegionKind::generated) continue;
      const Body back = Json::parse(Json(region.body).dump()).get<Body>();
      ASSERT_EQ(fingerprint(back), fingerprint(region.body)) << "seed " << seed;
      ASSERT_TRUE(std::is_sorted(region.nodes.begin(), region.nodes.end())) << "seed " << seed;
      ASSERT_LE(region.name.size(), 60u);
    }
  }
}

TEST(RandomGraphs, SchedulingIsRepeatable) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const RandomGraph random(seed);
    const Plan a = schedule(random.graph(), {}, {}), b = schedule(random.graph(), {}, {});
    ASSERT_EQ(a.regions.size(), b.regions.size());
    for (std::size_t r = 0; r < a.regions.size(); ++r) {
      EXPECT_EQ(a.regions[r].name, b.regions[r].name);
      EXPECT_EQ(a.regions[r].nodes, b.regions[r].nodes);
    }
  }
}

}  // namespace
}  // namespace cudaagent::schedule
