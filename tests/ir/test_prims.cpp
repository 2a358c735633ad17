#include <gtest/gtest.h>

#include <set>

#include "ir/prims.h"

namespace cudaagent::ir {
namespace {

TEST(Prims, TableIsConsistent) {
  std::set<std::string_view> names;
  for (const MapFn& fn : map_fns()) {
    EXPECT_TRUE(names.insert(fn.name).second) << fn.name;
    EXPECT_TRUE(fn.arity >= 1 && fn.arity <= 3) << fn.name;
    EXPECT_TRUE(fn.floats || fn.ints || fn.bools) << fn.name;
    EXPECT_EQ(find_map_fn(fn.name), &fn);
    EXPECT_TRUE(is_map("prim::" + std::string(fn.name)));
  }
  EXPECT_EQ(find_map_fn("convert"), nullptr);
}

TEST(Prims, Classes) {
  EXPECT_TRUE(is_map("prim::convert"));
  EXPECT_FALSE(is_map("prim::reduce"));
  EXPECT_FALSE(is_map("add"));
  EXPECT_TRUE(is_view("prim::slice"));
  EXPECT_FALSE(is_view("aten::slice"));
  EXPECT_TRUE(is_generator("prim::iota"));
  EXPECT_FALSE(is_prim("aten::add.Tensor"));
}

TEST(Prims, ReduceKindsRoundTrip) {
  for (int i = 0; i < 8; ++i) {
    const auto kind = static_cast<ReduceKind>(i);
    EXPECT_EQ(find_reduce_kind(reduce_kind_name(kind)), kind);
  }
  EXPECT_FALSE(find_reduce_kind("mean"));
}

}  // namespace
}  // namespace cudaagent::ir
