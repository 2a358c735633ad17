#include <gtest/gtest.h>

#include "schedule/axis_space.h"

namespace cudaagent::schedule {
namespace {

std::vector<std::int64_t> extents(const AxisSpace& space, const AxisList& list) {
  std::vector<std::int64_t> result;
  for (const AxisId axis : space.leaves(list)) result.push_back(space.extent(axis));
  return result;
}

TEST(AxisSpace, UnifyingATwelveWithThreeByFourSplitsIt) {
  AxisSpace space;
  const AxisList twelve = {space.add(12)}, pair = {space.add(3), space.add(4)};
  ASSERT_TRUE(space.unify(twelve, pair));
  EXPECT_EQ(extents(space, twelve), (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(space.leaves(twelve), space.leaves(pair));
}

TEST(AxisSpace, FactorsThatDoNotNestAreRefused) {
  AxisSpace space;
  EXPECT_FALSE(space.unify({space.add(2), space.add(6)}, {space.add(3), space.add(4)}));
  EXPECT_FALSE(space.unify({space.add(4)}, {space.add(8)}));
  EXPECT_FALSE(space.unify({space.add(4)}, {}));
}

TEST(AxisSpace, ASplitIsSeenByEveryListThatHoldsTheAxis) {
  AxisSpace space;
  const AxisId shared = space.add(24);
  const AxisList a = {shared}, b = {space.add(5), shared};
  ASSERT_TRUE(space.unify(a, {space.add(2), space.add(12)}));
  ASSERT_TRUE(space.unify(a, {space.add(6), space.add(4)}));
  EXPECT_EQ(extents(space, b), (std::vector<std::int64_t>{5, 2, 3, 4}));
}

TEST(AxisSpace, RegroupCutsAtTheBordersAsked) {
  AxisSpace space;
  const AxisList list = {space.add(2), space.add(32), space.add(7)};
  const auto groups = space.regroup(list, {2, 4, 1, 56});
  ASSERT_TRUE(groups);
  EXPECT_EQ(extents(space, (*groups)[1]), (std::vector<std::int64_t>{4}));
  EXPECT_TRUE((*groups)[2].empty());
  EXPECT_EQ(extents(space, (*groups)[3]), (std::vector<std::int64_t>{8, 7}));
  EXPECT_EQ(extents(space, list), (std::vector<std::int64_t>{2, 4, 8, 7}));
}

TEST(AxisSpace, RegroupRefusesWhatStraddlesABorder) {
  AxisSpace space;
  EXPECT_FALSE(space.regroup({space.add(2), space.add(6)}, {3, 4}));
  EXPECT_FALSE(space.regroup({space.add(4)}, {8}));
}

}  // namespace
}  // namespace cudaagent::schedule
