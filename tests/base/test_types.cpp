#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/types.h"

namespace cudaagent {
namespace {

Arg round_trip(const Arg& arg) { return Json::parse(Json(arg).dump()).get<Arg>(); }

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(DType::other); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(dtype_from_name("float7"), DType::other);
  EXPECT_EQ(std::string(dtype_name(DType::bf16)), "bfloat16");
}

TEST(DType, Properties) {
  EXPECT_TRUE(is_float(DType::bf16));
  EXPECT_FALSE(is_float(DType::i8));
  EXPECT_TRUE(is_integral(DType::u8));
  EXPECT_FALSE(is_integral(DType::b8));
  EXPECT_TRUE(is_generated(DType::b8));
  EXPECT_FALSE(is_generated(DType::c64));
  EXPECT_EQ(compute_dtype(DType::f16), DType::f32);
  EXPECT_EQ(compute_dtype(DType::f64), DType::f64);
  EXPECT_EQ(dtype_size(DType::c128), 16);
}

TEST(TensorType, NumelAndSpan) {
  EXPECT_EQ((TensorType{DType::f32, {4, 8}, {16, 1}, {}}.span()), 3 * 16 + 7 + 1);
  EXPECT_EQ((TensorType{DType::f32, {4, 8}, {0, 1}, {}}.span()), 8);
  EXPECT_EQ((TensorType{DType::f32, {4, 0}, {1, 1}, {}}.span()), 0);
  EXPECT_EQ((TensorType{DType::f32, {}, {}, {}}.span()), 1);
  EXPECT_EQ((TensorType{DType::f32, {}, {}, {}}.numel()), 1);
  EXPECT_EQ(contiguous_strides({2, 0, 3}), (std::vector<std::int64_t>{3, 3, 1}));
}

TEST(TensorType, JsonRoundTrip) {
  const TensorType type{DType::f16, {2, 3}, {1, 2}, {DeviceType::cuda, 1}};
  EXPECT_EQ(Json::parse(Json(type).dump()).get<TensorType>(), type);
}

TEST(Arg, JsonRoundTrip) {
  const std::vector<Arg> args = {{None{}},
                                 {Ref{4}},
                                 {true},
                                 {std::int64_t{1}},
                                 {std::numeric_limits<std::int64_t>::min()},
                                 {1.0},
                                 {-0.0},
                                 {0.1},
                                 {std::numeric_limits<double>::denorm_min()},
                                 {std::numeric_limits<double>::infinity()},
                                 {-std::numeric_limits<double>::infinity()},
                                 {std::numeric_limits<double>::quiet_NaN()},
                                 {Complex{1, -std::numeric_limits<double>::infinity()}},
                                 {std::string("mean")},
                                 {DType::bf16},
                                 {Device{DeviceType::cuda, 3}},
                                 {Layout{"strided"}},
                                 {MemoryFormat{"channels_last"}},
                                 {ArgList{Arg{Ref{0}}, Arg{None{}}, Arg{ArgList{Arg{2.0}}}}}};
  for (const Arg& arg : args) EXPECT_EQ(round_trip(arg), arg) << Json(arg).dump();
  EXPECT_EQ(Json(Arg{1.0}).dump(), R"({"f":1.0})");
  EXPECT_EQ(Json(NamedArg{"dim", {std::int64_t{1}}}).dump(), R"(["dim",1])");
}

TEST(Arg, EqualityIsOfBits) {
  EXPECT_NE(Arg{0.0}, Arg{-0.0});
  EXPECT_NE(Arg{1.0}, Arg{std::int64_t{1}});
  EXPECT_NE(Arg{true}, Arg{std::int64_t{1}});
}

TEST(Arg, MalformedIsAUserError) {
  for (const char* text :
       {R"({"q": 1})", R"("bare")", R"({"f": "x"})", R"({"s":"a","f":1})", "18446744073709551615", "0.5"}) {
    EXPECT_THROW(Json::parse(text).get<Arg>(), UserError) << text;
  }
}

TEST(Args, ReferencesAndRemap) {
  const std::vector<NamedArg> args = {{"tensors", {ArgList{Arg{Ref{2}}, Arg{None{}}, Arg{Ref{0}}}}}, {"x", {Ref{2}}}};
  EXPECT_EQ(references(args), (std::vector<std::int32_t>{2, 0, 2}));
  EXPECT_EQ(references(remap_references(args, {7, 8, 9})), (std::vector<std::int32_t>{9, 7, 9}));
}

TEST(Args, FindAndIntLists) {
  const std::vector<NamedArg> args = {{"dims", int_list({1, -2})}, {"f", {0.5}}};
  EXPECT_EQ(as_int_list(*find_arg(args, "dims")), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(find_arg(args, "other"), nullptr);
  EXPECT_THROW(as_int_list(*find_arg(args, "f")), InternalError);
}

TEST(Device, Names) {
  EXPECT_EQ(device_name({DeviceType::cuda, 2}), "cuda:2");
  EXPECT_EQ(device_from_name("cuda:2"), (Device{DeviceType::cuda, 2}));
  EXPECT_EQ(device_from_name("cuda"), (Device{DeviceType::cuda, 0}));
  EXPECT_EQ(device_from_name("cpu"), Device{});
  for (const char* name : {"", "cuda:", "cuda:x", "tpu", "cuda:99999"}) EXPECT_THROW(device_from_name(name), UserError);
}

}  // namespace
}  // namespace cudaagent
