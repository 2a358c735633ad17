#include "verify/strided.h"

#include <algorithm>
#include <cstring>

namespace cudaagent::verify {

namespace {

template <class T, class Convert>
void load_run(const std::byte* at, std::int64_t count, std::int64_t step, double* out, const Convert& convert) {
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, at + i * step, sizeof value);
    out[i] = convert(value);
  }
}

void load_run_of(DType dtype, const std::byte* at, std::int64_t count, std::int64_t step, double* out) {
  const auto widen = [](auto value) { return static_cast<double>(value); };
  switch (dtype) {
    case DType::f32:
      return load_run<float>(at, count, step, out, widen);
    case DType::f64:
      return load_run<double>(at, count, step, out, widen);
    case DType::f16:
      return load_run<std::uint16_t>(at, count, step, out, half_value);
    case DType::bf16:
      return load_run<std::uint16_t>(at, count, step, out, bfloat16_value);
    default:
      for (std::int64_t i = 0; i < count; ++i) out[i] = load_element(at + i * step, dtype);
  }
}

template <class T>
void store_run(std::byte* at, std::int64_t count, std::int64_t step, const double* values) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(at + i * step, &value, sizeof value);
  }
}

}  // namespace

std::int64_t row_length(const TensorType& type) { return type.dims.empty() ? 1 : type.dims.back(); }

void for_each_run(const TensorType& type, std::int64_t begin, std::int64_t count,
                  const std::function<void(std::int64_t, std::int64_t, std::int64_t, std::int64_t)>& visit) {
  const std::int64_t size = dtype_size(type.dtype);
  const bool dense = type.strides == contiguous_strides(type.dims);
  if (dense) {
    if (count > 0) visit(begin, begin * size, count, size);
    return;
  }
  const std::int64_t row = row_length(type);
  const std::int64_t step = type.strides.back() * size;
  for (std::int64_t at = begin; at < begin + count;) {
    std::int64_t rest = at / row, offset = 0;
    for (std::size_t d = type.dims.size() - 1; d-- > 0;) {
      offset += rest % type.dims[d] * type.strides[d];
      rest /= type.dims[d];
    }
    const std::int64_t column = at % row;
    const std::int64_t length = std::min(row - column, begin + count - at);
    visit(at, offset * size + column * step, length, step);
    at += length;
  }
}

void read_elements(const Elements& from, std::int64_t begin, std::int64_t count, double* out) {
  for_each_run(from.type, begin, count,
               [&](std::int64_t first, std::int64_t offset, std::int64_t length, std::int64_t step) {
                 load_run_of(from.type.dtype, from.data + offset, length, step, out + (first - begin));
               });
}

void read_integers(const Elements& from, std::int64_t begin, std::int64_t count, std::int64_t* out) {
  for_each_run(from.type, begin, count,
               [&](std::int64_t first, std::int64_t offset, std::int64_t length, std::int64_t step) {
                 const std::byte* at = from.data + offset;
                 for (std::int64_t i = 0; i < length; ++i) {
                   out[first - begin + i] = load_integer(at + i * step, from.type.dtype);
                 }
               });
}

void write_elements(const Elements& to, std::int64_t begin, std::int64_t count, const double* values) {
  for_each_run(to.type, begin, count,
               [&](std::int64_t first, std::int64_t offset, std::int64_t length, std::int64_t step) {
                 std::byte* at = to.data + offset;
                 const double* from = values + (first - begin);
                 if (to.type.dtype == DType::f32) return store_run<float>(at, length, step, from);
                 if (to.type.dtype == DType::f64) return store_run<double>(at, length, step, from);
                 for (std::int64_t i = 0; i < length; ++i) store_element(at + i * step, to.type.dtype, from[i]);
               });
}

}  // namespace cudaagent::verify
