#include "codegen/expression.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

namespace cudaagent::codegen {

namespace {

std::string hex_bits(const char* type, std::uint16_t bits) {
  char text[64];
  std::snprintf(text, sizeof text, "ca::from_bits<%s>(0x%04x)", type, bits);
  return text;
}

std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

std::uint16_t half_bits(float value) {
  if (std::isnan(value)) return 0x7e00;
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (magnitude >= 65520.0f) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // Spacing of half around the value: 2^(e - 11), never below 2^-24.
  const int spacing = std::max(exponent - 11, -24);
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -spacing)));
  const int bits = spacing == -24 ? units : ((spacing + 24) << 10) + units;
  return sign | static_cast<std::uint16_t>(bits);
}

std::string float_text(double value, DType dtype) {
  const std::string type = ctype(dtype);
  if (std::isnan(value)) return "ca::nan<" + type + ">()";
  const double rounded = dtype == DType::f32 ? static_cast<double>(static_cast<float>(value)) : value;
  if (std::isinf(rounded)) return std::string(rounded < 0 ? "-" : "") + "ca::inf<" + type + ">()";
  char text[64];
  std::snprintf(text, sizeof text, dtype == DType::f32 ? "%af" : "%a", rounded);
  return text;
}

template <class T>
std::int64_t wrapped(std::int64_t value) {
  return static_cast<T>(value);
}

std::string integer_text(std::int64_t value, DType dtype) {
  switch (dtype) {
    case DType::i8:
      value = wrapped<std::int8_t>(value);
      break;
    case DType::i16:
      value = wrapped<std::int16_t>(value);
      break;
    case DType::i32:
      value = wrapped<std::int32_t>(value);
      break;
    case DType::u8:
      value = wrapped<std::uint8_t>(value);
      break;
    default:
      break;
  }
  // The most negative number has no literal of its own.
  if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807ll - 1)";
  return ctype(dtype) + "(" + std::to_string(value) + "ll)";
}

}  // namespace

std::string ctype(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::f16:
      return "ca::half";
    case DType::bf16:
      return "ca::bfloat16";
    case DType::i8:
      return "int8_t";
    case DType::i16:
      return "int16_t";
    case DType::i32:
      return "int32_t";
    case DType::i64:
      return "int64_t";
    case DType::u8:
      return "uint8_t";
    case DType::b8:
      return "bool";
    default:
      throw InternalError(std::string("no template reads ") + dtype_name(dtype));
  }
}

std::string literal(double value, DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::f64:
      return float_text(value, dtype);
    case DType::f16:
      return hex_bits("ca::half", half_bits(static_cast<float>(value)));
    case DType::bf16:
      return hex_bits("ca::bfloat16", bfloat16_bits(static_cast<float>(value)));
    case DType::b8:
      return value != 0 ? "true" : "false";
    default:
      break;
  }
  // Out of range is undefined in C++; zero stands for NaN and saturation for the rest.
  if (std::isnan(value)) return integer_text(0, dtype);
  if (value >= 0x1p63) return integer_text(std::numeric_limits<std::int64_t>::max(), dtype);
  if (value <= -0x1p63) return integer_text(std::numeric_limits<std::int64_t>::min(), dtype);
  return integer_text(static_cast<std::int64_t>(value), dtype);
}

std::string literal(std::int64_t value, DType dtype) {
  if (dtype == DType::b8) return value != 0 ? "true" : "false";
  if (dtype == DType::f64) return literal(static_cast<double>(value), dtype);
  if (is_float(dtype)) return literal(static_cast<double>(static_cast<float>(value)), dtype);
  return integer_text(value, dtype);
}

std::string literal(const Arg& value, DType dtype) {
  if (value.is<bool>()) return literal(static_cast<std::int64_t>(value.as<bool>()), dtype);
  if (value.is<std::int64_t>()) return literal(value.as<std::int64_t>(), dtype);
  if (value.is<double>()) return literal(value.as<double>(), dtype);
  throw InternalError("a constant of a body is a bool, an integer or a double");
}

std::string map_function_name(const std::string& fn) {
  if (fn == "and" || fn == "or" || fn == "xor" || fn == "not") return "bit_" + fn;
  return fn;
}

std::string expression(const schedule::Inst& inst, const Naming& operand) {
  if (inst.kind == schedule::InstKind::constant) return literal(inst.constant, inst.dtype);
  if (inst.kind != schedule::InstKind::map) throw InternalError("only maps and constants are expressions");
  std::string text =
      inst.fn == "convert" ? "ca::convert<" + ctype(inst.dtype) + ">(" : "ca::" + map_function_name(inst.fn) + "(";
  for (std::size_t k = 0; k < inst.operands.size(); ++k) text += (k ? ", " : "") + operand(inst.operands[k]);
  return text + ")";
}

std::string affine(const schedule::Access& access, const std::vector<std::string>& index, const std::string& suffix) {
  std::string text;
  for (std::size_t a = 0; a < access.strides.size(); ++a) {
    const std::int64_t stride = access.strides[a];
    if (stride == 0 || index[a].empty()) continue;
    if (!text.empty()) text += " + ";
    text += stride == 1 ? index[a] : index[a] + " * (" + std::to_string(stride) + suffix + ")";
  }
  if (access.offset != 0 || text.empty())
    text = std::to_string(access.offset) + suffix + (text.empty() ? "" : " + ") + text;
  return text;
}

DType operand_dtype(const schedule::Body& body, const schedule::Inst& inst) {
  return body.insts.at(static_cast<std::size_t>(inst.operands.at(0))).dtype;
}

DType accumulator_dtype(const schedule::Body& body, const schedule::Inst& reduce) {
  if (reduce.reduce == ir::ReduceKind::any || reduce.reduce == ir::ReduceKind::all) return DType::b8;
  return compute_dtype(operand_dtype(body, reduce));
}

std::string reduce_identity(ir::ReduceKind kind, DType accumulator) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto lowest = [&](bool negative) -> std::string {
    if (is_float(accumulator)) return literal(negative ? -inf : inf, accumulator);
    if (accumulator == DType::b8) return negative ? "false" : "true";
    const std::int64_t bits = dtype_size(accumulator) * 8;
    if (accumulator == DType::u8) return literal(static_cast<std::int64_t>(negative ? 0 : 255), accumulator);
    const auto highest = static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1);
    return literal(negative ? -highest - 1 : highest, accumulator);
  };
  switch (kind) {
    case ir::ReduceKind::sum:
      return literal(std::int64_t{0}, accumulator);
    case ir::ReduceKind::prod:
      return literal(std::int64_t{1}, accumulator);
    case ir::ReduceKind::max:
    case ir::ReduceKind::argmax:
      return lowest(true);
    case ir::ReduceKind::min:
    case ir::ReduceKind::argmin:
      return lowest(false);
    case ir::ReduceKind::any:
      return "false";
    case ir::ReduceKind::all:
      return "true";
  }
  throw InternalError("unknown reduction");
}

std::string reduce_function(ir::ReduceKind kind) {
  switch (kind) {
    case ir::ReduceKind::sum:
      return "ca::add";
    case ir::ReduceKind::prod:
      return "ca::mul";
    case ir::ReduceKind::max:
      return "ca::max";
    case ir::ReduceKind::min:
      return "ca::min";
    case ir::ReduceKind::any:
      return "ca::bit_or";
    case ir::ReduceKind::all:
      return "ca::bit_and";
    default:
      return "";
  }
}

}  // namespace cudaagent::codegen
