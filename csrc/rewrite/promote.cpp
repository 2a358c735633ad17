#include "rewrite/promote.h"

#include <cmath>

namespace cudaagent::rewrite {

namespace {

int category(DType dtype) { return is_float(dtype) ? 2 : is_integral(dtype) ? 1 : 0; }

DType signed_of_size(std::int64_t bytes) {
  return bytes == 1 ? DType::i8 : bytes == 2 ? DType::i16 : bytes == 4 ? DType::i32 : DType::i64;
}

}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (is_float(a)) {
    if (a == DType::f64 || b == DType::f64) return DType::f64;
    return DType::f32;  // float16 with bfloat16 as well
  }
  if (a != DType::u8 && b != DType::u8) return dtype_size(a) > dtype_size(b) ? a : b;
  const DType other = a == DType::u8 ? b : a;
  return other == DType::i8 ? DType::i16 : signed_of_size(dtype_size(other));
}

void Promotion::Slot::merge(DType other) {
  dtype = set ? promote_types(dtype, other) : other;
  set = true;
}

void Promotion::add_tensor(const TensorType& type) { (type.dims.empty() ? zero_dim_ : dims_).merge(type.dtype); }

void Promotion::add_number(const Arg& number) {
  number_.merge(number.is<double>() ? DType::f32 : number.is<std::int64_t>() ? DType::i64 : DType::b8);
}

Promotion::Slot Promotion::combine(const Slot& higher, const Slot& lower) {
  if (!higher.set) return lower;
  if (!lower.set || category(higher.dtype) == 2) return higher;
  if (higher.dtype == DType::b8 || category(lower.dtype) == 2) return {true, promote_types(higher.dtype, lower.dtype)};
  return higher;
}

DType Promotion::result() const { return combine(dims_, combine(zero_dim_, number_)).dtype; }

double number_of(const Arg& value) {
  if (value.is<bool>()) return value.as<bool>() ? 1 : 0;
  if (value.is<std::int64_t>()) return static_cast<double>(value.as<std::int64_t>());
  if (value.is<double>()) return value.as<double>();
  throw InternalError("number_of: the argument is not a number");
}

bool fits(const Arg& value, DType dtype) {
  if (!value.is<double>() || !is_integral(dtype)) return true;
  return std::fabs(value.as<double>()) < 0x1p63;
}

Arg constant_of(const Arg& value, DType dtype) {
  if (is_float(dtype)) return Arg{number_of(value)};
  if (dtype == DType::b8) return Arg{number_of(value) != 0};
  if (value.is<bool>()) return Arg{static_cast<std::int64_t>(value.as<bool>())};
  if (value.is<double>() && fits(value, dtype)) return Arg{static_cast<std::int64_t>(value.as<double>())};
  return value;
}

}  // namespace cudaagent::rewrite
