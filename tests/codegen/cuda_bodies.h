// Bodies that networks are made of, for the CUDA templates' tests.
#pragma once

#include <algorithm>

#include "host_harness.h"

namespace cudaagent::testing {

inline Arg number(double value) { return Arg{value}; }

inline schedule::Body softmax_rows(std::int64_t rows, std::int64_t length, DType dtype) {
  const DType c = compute_dtype(dtype);
  BodyBuilder b({{rows, false}, {length, true}});
  const auto x = b.map("convert", c, {b.load(dtype, {length, 1})});
  const auto e = b.map("exp", c, {b.map("sub", c, {x, b.reduce(ir::ReduceKind::max, x)})});
  const auto y = b.map("div", c, {e, b.reduce(ir::ReduceKind::sum, e)});
  b.store(b.map("convert", dtype, {y}), {length, 1});
  return b.body;
}

/// Softmax over the middle axis of [batch, channels, inner].
inline schedule::Body softmax_channels(std::int64_t batch, std::int64_t channels, std::int64_t inner) {
  BodyBuilder b({{batch, false}, {inner, false}, {channels, true}});
  const std::vector<std::int64_t> strides{channels * inner, 1, inner};
  const auto x = b.load(DType::f32, strides);
  const auto e = b.map("exp", DType::f32, {b.map("sub", DType::f32, {x, b.reduce(ir::ReduceKind::max, x)})});
  b.store(b.map("div", DType::f32, {e, b.reduce(ir::ReduceKind::sum, e)}), strides);
  return b.body;
}

/// Layer norm with weight and bias; the row's mean is stored too.
inline schedule::Body layer_norm(std::int64_t rows, std::int64_t length, DType dtype) {
  const DType c = compute_dtype(dtype);
  BodyBuilder b({{rows, false}, {length, true}});
  const auto op = [&](const char* fn, std::vector<std::int32_t> operands) { return b.map(fn, c, std::move(operands)); };
  const auto x = op("convert", {b.load(dtype, {length, 1})});
  const auto n = b.constant(number(static_cast<double>(length)), c);
  const auto mean = op("div", {b.reduce(ir::ReduceKind::sum, x), n});
  const auto d = op("sub", {x, mean});
  const auto variance = op("div", {b.reduce(ir::ReduceKind::sum, op("mul", {d, d})), n});
  const auto r = op("rsqrt", {op("add", {variance, b.constant(number(1e-5), c)})});
  const auto weight = op("convert", {b.load(dtype, {0, 1})}), bias = op("convert", {b.load(dtype, {0, 1})});
  b.store(b.map("convert", dtype, {op("fma", {op("mul", {d, r}), weight, bias})}), {length, 1});
  b.store(mean, {1, 0});
  return b.body;
}

/// Training batch norm of [batch, channels, inner]: statistics and normalised values, rows of two reduced axes.
inline schedule::Body batch_norm(std::int64_t batch, std::int64_t channels, std::int64_t inner) {
  BodyBuilder b({{channels, false}, {batch, true}, {inner, true}});
  const auto op = [&](const char* fn, std::vector<std::int32_t> operands) {
    return b.map(fn, DType::f32, std::move(operands));
  };
  const std::vector<std::int64_t> strides{inner, channels * inner, 1};
  const auto x = b.load(DType::f32, strides);
  const auto n = b.constant(number(static_cast<double>(batch * inner)), DType::f32);
  const auto mean = op("div", {b.reduce(ir::ReduceKind::sum, x), n});
  const auto d = op("sub", {x, mean});
  const auto variance = op("div", {b.reduce(ir::ReduceKind::sum, op("mul", {d, d})), n});
  b.store(mean, {1, 0, 0});
  b.store(variance, {1, 0, 0});
  const auto r = op("rsqrt", {op("add", {variance, b.constant(number(1e-5), DType::f32)})});
  b.store(op("mul", {op("mul", {d, r}), b.load(DType::f32, {1, 0, 0})}), strides);
  return b.body;
}

/// Group norm of [batch, groups, channels a group, inner] with a weight and a bias a channel.
inline schedule::Body group_norm(std::int64_t batch, std::int64_t groups, std::int64_t channels, std::int64_t inner) {
  BodyBuilder b({{batch, false}, {groups, false}, {channels, true}, {inner, true}});
  const auto op = [&](const char* fn, std::vector<std::int32_t> operands) {
    return b.map(fn, DType::f32, std::move(operands));
  };
  const std::vector<std::int64_t> strides{groups * channels * inner, channels * inner, inner, 1},
      weights{0, channels, 1, 0};
  const auto x = b.load(DType::f32, strides);
  const auto n = b.constant(number(static_cast<double>(channels * inner)), DType::f32);
  const auto d = op("sub", {x, op("div", {b.reduce(ir::ReduceKind::sum, x), n})});
  const auto variance = op("div", {b.reduce(ir::ReduceKind::sum, op("mul", {d, d})), n});
  const auto r = op("rsqrt", {op("add", {variance, b.constant(number(1e-5), DType::f32)})});
  b.store(op("fma", {op("mul", {d, r}), b.load(DType::f32, weights), b.load(DType::f32, weights)}), strides);
  return b.body;
}

/// relu of [batch, channels, inner] written as [batch, inner, channels].
inline schedule::Body channels_last(std::int64_t batch, std::int64_t channels, std::int64_t inner, DType dtype) {
  BodyBuilder b({{batch, false}, {inner, false}, {channels, false}});
  const auto x = b.load(dtype, {channels * inner, 1, inner});
  b.store(b.map("max", dtype, {x, b.constant(number(0), dtype)}), {channels * inner, channels, 1});
  return b.body;
}

/// One reduction of [rows, length]; `columns`: of [length, rows] over its first axis.
inline schedule::Body plain_reduction(ir::ReduceKind kind, std::int64_t rows, std::int64_t length, DType dtype,
                                      bool columns) {
  BodyBuilder b({{rows, false}, {length, true}});
  const auto x = b.load(dtype, columns ? std::vector<std::int64_t>{1, rows} : std::vector<std::int64_t>{length, 1});
  b.store(b.reduce(kind, x), {1, 0});
  return b.body;
}

inline schedule::Body full_reduction(ir::ReduceKind kind, std::int64_t length, DType dtype) {
  BodyBuilder b({{length, true}});
  const auto x = b.load(dtype, {1});
  b.store(b.reduce(kind, x), {0});
  return b.body;
}

/// x * 0.5 * (1 + erf(x / sqrt 2)) over a flat space.
inline schedule::Body gelu(std::int64_t count, DType dtype) {
  const DType c = compute_dtype(dtype);
  BodyBuilder b({{count, false}});
  const auto x = b.map("convert", c, {b.load(dtype, {1})});
  const auto e = b.map("erf", c, {b.map("mul", c, {x, b.constant(number(0.70710678118654752), c)})});
  const auto y = b.map(
      "mul", c, {b.map("mul", c, {x, b.constant(number(0.5), c)}), b.map("add", c, {e, b.constant(number(1.0), c)})});
  b.store(b.map("convert", dtype, {y}), {1});
  return b.body;
}

/// max(x * scale[channel] + shift[channel], 0) on [batch, channels, inner].
inline schedule::Body scale_relu(std::int64_t batch, std::int64_t channels, std::int64_t inner, DType dtype) {
  BodyBuilder b({{batch, false}, {channels, false}, {inner, false}});
  const std::vector<std::int64_t> strides{channels * inner, inner, 1};
  const auto y = b.map("fma", dtype, {b.load(dtype, strides), b.load(dtype, {0, 1, 0}), b.load(dtype, {0, 1, 0})});
  b.store(b.map("max", dtype, {y, b.constant(number(0), dtype)}), strides);
  return b.body;
}

inline double tolerance_of(DType dtype) { return std::max(8 * ulp(dtype), 1e-15); }

}  // namespace cudaagent::testing
