#include <gtest/gtest.h>

#include "base/error.h"

namespace cudaagent {
namespace {

TEST(Outcome, HoldsAValueOrARejection) {
  const Outcome<int> good = 3;
  const Outcome<int> bad = Rejection{"jit", "ptxas ran out of registers", ""};
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good.value(), 3);
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.rejection().stage, "jit");
  EXPECT_THROW(bad.value(), InternalError);
}

}  // namespace
}  // namespace cudaagent
