#include "base/types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace cudaagent {

namespace {

struct DTypeRow {
  const char* name;
  const char* short_name;
  std::int64_t size;
};

// Indexed by DType.
constexpr std::array<DTypeRow, 19> rows = {{
    {"float32", "f32", 4},
    {"float64", "f64", 8},
    {"float16", "f16", 2},
    {"bfloat16", "bf16", 2},
    {"int8", "i8", 1},
    {"int16", "i16", 2},
    {"int32", "i32", 4},
    {"int64", "i64", 8},
    {"uint8", "u8", 1},
    {"bool", "b8", 1},
    {"complex64", "c64", 8},
    {"complex128", "c128", 16},
    {"complex32", "c32", 4},
    {"uint16", "u16", 2},
    {"uint32", "u32", 4},
    {"uint64", "u64", 8},
    {"float8_e4m3fn", "f8e4m3fn", 1},
    {"float8_e5m2", "f8e5m2", 1},
    {"other", "other", 0},
}};
static_assert(rows.size() == static_cast<std::size_t>(DType::other) + 1);

const DTypeRow& row(DType dtype) { return rows.at(static_cast<std::size_t>(dtype)); }

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

void collect(const Arg& arg, std::vector<std::int32_t>& found) {
  if (arg.is<Ref>()) found.push_back(arg.as<Ref>().id);
  if (arg.is<ArgList>()) {
    for (const Arg& item : arg.as<ArgList>()) collect(item, found);
  }
}

Arg remap(const Arg& arg, const std::vector<std::int32_t>& map) {
  if (arg.is<Ref>()) return Arg{Ref{map.at(static_cast<std::size_t>(arg.as<Ref>().id))}};
  if (!arg.is<ArgList>()) return arg;
  ArgList list;
  list.reserve(arg.as<ArgList>().size());
  for (const Arg& item : arg.as<ArgList>()) list.push_back(remap(item, map));
  return Arg{std::move(list)};
}

}  // namespace

const char* dtype_name(DType dtype) { return row(dtype).name; }
const char* dtype_short_name(DType dtype) { return row(dtype).short_name; }
std::int64_t dtype_size(DType dtype) { return row(dtype).size; }

DType dtype_from_name(const std::string& name) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (name == rows[i].name) return static_cast<DType>(i);
  }
  return DType::other;
}

bool is_float(DType dtype) { return dtype <= DType::bf16; }
bool is_integral(DType dtype) { return dtype >= DType::i8 && dtype <= DType::u8; }
bool is_generated(DType dtype) { return dtype <= DType::b8; }
DType compute_dtype(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype; }

std::int64_t TensorType::numel() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

std::int64_t TensorType::span() const {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return 0;
    last += (dims[i] - 1) * strides[i];
  }
  return last + 1;
}

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t step = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>(dims[i], 1);
  }
  return strides;
}

bool Arg::operator==(const Arg& other) const {
  if (v.index() != other.v.index()) return false;
  if (is<double>()) return same_bits(as<double>(), other.as<double>());
  if (is<Complex>()) {
    const Complex& a = as<Complex>();
    const Complex& b = other.as<Complex>();
    return same_bits(a.re, b.re) && same_bits(a.im, b.im);
  }
  return v == other.v;
}

bool NamedArg::operator==(const NamedArg& other) const { return name == other.name && value == other.value; }

const Arg* find_arg(const std::vector<NamedArg>& args, std::string_view name) {
  const auto it = std::find_if(args.begin(), args.end(), [&](const NamedArg& arg) { return arg.name == name; });
  return it == args.end() ? nullptr : &it->value;
}

Arg int_list(const std::vector<std::int64_t>& values) {
  ArgList list;
  list.reserve(values.size());
  for (const std::int64_t value : values) list.push_back(Arg{value});
  return Arg{std::move(list)};
}

std::vector<std::int64_t> as_int_list(const Arg& arg) {
  if (!arg.is<ArgList>()) throw InternalError("as_int_list: the argument is not a list");
  std::vector<std::int64_t> values;
  for (const Arg& item : arg.as<ArgList>()) {
    if (!item.is<std::int64_t>()) throw InternalError("as_int_list: an element is not an integer");
    values.push_back(item.as<std::int64_t>());
  }
  return values;
}

std::vector<std::int32_t> references(const std::vector<NamedArg>& args) {
  std::vector<std::int32_t> found;
  for (const NamedArg& arg : args) collect(arg.value, found);
  return found;
}

std::vector<NamedArg> remap_references(const std::vector<NamedArg>& args, const std::vector<std::int32_t>& map) {
  std::vector<NamedArg> out;
  out.reserve(args.size());
  for (const NamedArg& arg : args) out.push_back({arg.name, remap(arg.value, map)});
  return out;
}

std::string device_name(const Device& device) {
  switch (device.type) {
    case DeviceType::cpu:
      return "cpu";
    case DeviceType::cuda:
      return "cuda:" + std::to_string(device.index);
    case DeviceType::meta:
      return "meta";
  }
  throw InternalError("device_name: not a device type");
}

Device device_from_name(const std::string& name) {
  if (name == "cpu") return {};
  if (name == "meta") return {DeviceType::meta, 0};
  if (name == "cuda") return {DeviceType::cuda, 0};
  const std::string digits = name.rfind("cuda:", 0) == 0 ? name.substr(5) : "";
  if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos) {
    throw UserError("'" + name + "' is not a device this project knows: use 'cpu' or 'cuda:<index>'");
  }
  return {DeviceType::cuda, std::stoi(digits)};
}

}  // namespace cudaagent
