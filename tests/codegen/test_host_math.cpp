// Every map function in every dtype it is defined on, through generated kernels: error in units of the last place
// against long double, special values, and exact integers.
#include <map>

#include "host_harness.h"

namespace cudaagent::testing {
namespace {

struct Type {
  DType dtype;
  int digits, lowest_exponent;  ///< of the significand; of the smallest denormal
  long double largest;
};
const Type types[] = {{DType::f32, 24, -149, std::numeric_limits<float>::max()},
                      {DType::f64, 53, -1074, std::numeric_limits<double>::max()},
                      {DType::f16, 11, -24, 65504.0L},
                      {DType::bf16, 8, -133, 0x1.FEp127L}};

long double error_in_ulps(long double got, long double want, const Type& type) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : HUGE_VALL;
  int exponent = 0;
  std::frexp(want, &exponent);
  const long double unit = std::ldexp(1.0L, std::max(exponent - type.digits, type.lowest_exponent));
  if (std::fabs(want) > type.largest)
    return std::isinf(got) || std::fabs(got) == type.largest ? (std::signbit(got) == std::signbit(want) ? 0 : HUGE_VALL)
                                                             : HUGE_VALL;
  if (std::isinf(got)) return std::fabs(want) > type.largest * (1 - std::ldexp(4.0L, -type.digits)) ? 1 : HUGE_VALL;
  return std::fabs(got - want) / unit;
}

std::vector<long double> samples(const Type& type) {
  std::vector<long double> result = {0.0L,
                                     -0.0L,
                                     1,
                                     -1,
                                     2,
                                     -2,
                                     0.5L,
                                     -0.5L,
                                     3,
                                     -3,
                                     10,
                                     -10,
                                     0.1L,
                                     HUGE_VALL,
                                     -HUGE_VALL,
                                     std::nanl(""),
                                     type.largest,
                                     -type.largest,
                                     std::ldexp(1.0L, type.lowest_exponent),
                                     1e-39L,
                                     -1e-39L,
                                     88.5L,
                                     -87.5L,
                                     -103.5L,
                                     88.8L,
                                     100,
                                     -100,
                                     200,
                                     709.7L,
                                     -740,
                                     1e4L,
                                     3e4L,
                                     1e-4L,
                                     -1e-4L,
                                     1e-8L};
  std::mt19937_64 random(17);
  std::normal_distribution<double> normal;
  for (int k = 0; k < 4000; ++k) result.push_back(normal(random));
  for (int k = 0; k < 2000; ++k) result.push_back(normal(random) * 12);
  for (int k = 0; k < 1000; ++k) result.push_back(normal(random) * std::pow(10.0, normal(random) * 4));
  for (int k = 0; k < 2000; ++k) result.push_back(std::uniform_real_distribution<double>(-1, 1)(random));
  // Towards zero, one and the zero of digamma.
  for (const double place : {0.0, 1.0, 0x1.762d86356be3fp+0}) {
    for (int k = 1; k < 53; ++k) {
      for (const double off : {std::ldexp(1.0, -k), std::ldexp(-1.3, -k)}) result.push_back(place + off);
    }
  }
  return result;
}

/// Units of the last place allowed. What goes to libmvec is within 4 by its own account; simple arithmetic is exact.
double allowed(const std::string& fn) {
  static const std::map<std::string, double> table = {
      {"exp", 2.6}, {"exp2", 2},    {"expm1", 2},  {"log", 2},       {"log2", 2},      {"log10", 2.1},    {"log1p", 2},
      {"rsqrt", 2}, {"sigmoid", 3}, {"sin", 3.5},  {"cos", 3.5},     {"tan", 3},       {"asin", 3},       {"acos", 3},
      {"atan", 3},  {"sinh", 3},    {"cosh", 3},   {"tanh", 3},      {"asinh", 3},     {"acosh", 3},      {"atanh", 3},
      {"erf", 3},   {"erfc", 4},    {"erfinv", 4}, {"lgamma", 8},    {"digamma", 8},   {"i0", 4},         {"i1", 4},
      {"pow", 3},   {"atan2", 3},   {"hypot", 3},  {"div_floor", 2}, {"remainder", 1}, {"div_trunc", 0.5}};
  const auto found = table.find(fn);
  return found == table.end() ? 0.5 : found->second;
}

TEST(HostMath, EveryFloatFunctionIsWithinItsUlps) {
  for (const Type& type : types) {
    const std::vector<long double> values = samples(type);
    const auto n = static_cast<std::int64_t>(values.size());
    for (const ir::MapFn& fn : ir::map_fns()) {
      if (!fn.floats || fn.name == "where") continue;
      const std::string name(fn.name);
      BodyBuilder b({{n, false}});
      std::vector<std::int32_t> operands;
      for (int k = 0; k < fn.arity; ++k) operands.push_back(b.load(type.dtype, {1}));
      const DType result = fn.predicate ? DType::b8 : type.dtype;
      b.store(b.map(name, result, operands), {1});
      HostKernel kernel(b.body);
      Memory memory(b.body);
      for (std::int64_t k = 0; k < n; ++k)
        for (std::size_t o = 0; o < fn.arity; ++o)
          // Each further operand walks the samples at its own pace, so that special values meet.
          memory.set(o, k,
                     {values[static_cast<std::size_t>(o == 0   ? k
                                                      : o == 1 ? k / 35 + k % 35 * (k % 3 ? 1 : 71)
                                                               : (k * 7) % n)],
                      0});
      kernel.run(memory.pointers());
      long double worst = 0;
      std::string where;
      for (std::int64_t k = 0; k < n; ++k) {
        Number x[3];
        for (std::size_t o = 0; o < fn.arity; ++o) x[o] = memory.get(o, k);
        const Number got = memory.get(fn.arity, k);
        long double off;
        if (fn.predicate) {
          off = got.i == static_cast<std::int64_t>(float_predicate(name, x[0].f, x[1].f)) ? 0 : HUGE_VALL;
        } else {
          off = error_in_ulps(got.f, float_map(name, type.dtype, x), type);
          // Its exponential overflows where the quotient is denormal; eager's does too.
          if (name == "sigmoid" && x[0].f < -87)
            off = std::fabs(got.f - float_map(name, type.dtype, x)) < 1e-37L ? 0 : off;
          // The float result is rounded once more.
          if (dtype_size(type.dtype) == 2) off = std::max(off - 0.01L, 0.0L);
        }
        if (off > worst) {
          worst = off;
          where = "(" + std::to_string(static_cast<double>(x[0].f)) + ", " +
                  std::to_string(static_cast<double>(x[1].f)) + ") = " + std::to_string(static_cast<double>(got.f));
        }
      }
      const double limit = dtype_size(type.dtype) == 2 ? 0.6 : allowed(name);
      EXPECT_LE(static_cast<double>(worst), limit) << name << " " << dtype_name(type.dtype) << " at " << where;
      if (std::getenv("SHOW"))
        printf("%s %s %.2f %s\n", dtype_name(type.dtype), name.c_str(), static_cast<double>(worst),
               where.substr(0, 60).c_str());
    }
  }
}

TEST(HostMath, EveryIntegerFunctionIsExact) {
  for (const DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::b8}) {
    const auto interesting = [&](int k) -> std::int64_t {
      const std::int64_t table[] = {
          0, 1, 2, 3, 5, 7, -1, -2, -3, -128, 127, 255, 32767, -32768, 2147483647, -2147483648LL, INT64_MAX, INT64_MIN};
      return table[k % 18];
    };
    BodyBuilder b({{18 * 18, false}});
    const auto x = b.load(dtype, {1}), y = b.load(dtype, {1});
    for (const ir::MapFn& fn : ir::map_fns()) {
      if (fn.arity > 2 || !(dtype == DType::b8 ? fn.bools : fn.ints)) continue;
      std::vector<std::int32_t> operands = {x, y};
      operands.resize(fn.arity);
      // Powers of exponents this large are the same 2^64 cycle; the oracle multiplies one by one.
      if (fn.name == "pow") operands[1] = b.map("and", dtype, {y, b.constant({std::int64_t{63}}, dtype)});
      b.store(b.map(std::string(fn.name), fn.predicate ? DType::b8 : dtype, operands), {1});
    }
    SCOPED_TRACE(dtype_name(dtype));
    HostKernel kernel(b.body);
    Memory memory(b.body);
    for (int k = 0; k < 18 * 18; ++k) {
      memory.set(0, k, round_to({0, interesting(k)}, dtype));
      memory.set(1, k, round_to({0, interesting(k / 18)}, dtype));
    }
    expect_matches(b.body, kernel, memory, 0, 0);
  }
}

}  // namespace
}  // namespace cudaagent::testing
