// Plain types every room shares: element types, devices, tensor types, constants and operator arguments.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cudaagent {

using Json = nlohmann::json;

/// Element types. Names in JSON are torch's own without the "torch." prefix ("float32").
/// Those from `c64` on are carried for extern operators only; no template reads them.
enum class DType : std::uint8_t {
  f32,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  b8,
  c64,
  c128,
  c32,
  u16,
  u32,
  u64,
  f8e4m3fn,
  f8e5m2,
  other
};

const char* dtype_name(DType dtype);
const char* dtype_short_name(DType dtype);       ///< "f32": the enumerator's own name, for printing
DType dtype_from_name(const std::string& name);  ///< unknown names give DType::other
std::int64_t dtype_size(DType dtype);            ///< bytes per element; 0 for `other`
bool is_float(DType dtype);                      ///< f32, f64, f16, bf16
bool is_integral(DType dtype);                   ///< i8..i64, u8; bool excluded
bool is_generated(DType dtype);                  ///< a template may read and write it
DType compute_dtype(DType dtype);                ///< f16 and bf16 compute in f32, the rest in themselves

enum class DeviceType : std::uint8_t { cpu, cuda, meta };

struct Device {
  DeviceType type = DeviceType::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
};

/// A tensor as the graph knows it. Strides are in elements and describe the materialised layout.
struct TensorType {
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;
  Device device;
  bool operator==(const TensorType&) const = default;

  std::int64_t numel() const;
  /// Elements from the first to one past the last addressed; 0 for an empty tensor.
  std::int64_t span() const;
};

std::vector<std::int64_t> contiguous_strides(const std::vector<std::int64_t>& dims);

struct None {
  bool operator==(const None&) const = default;
};
struct Complex {
  double re = 0, im = 0;
  bool operator==(const Complex&) const = default;
};
/// torch.layout / torch.memory_format by torch's own name ("strided", "channels_last").
struct Layout {
  std::string name;
  bool operator==(const Layout&) const = default;
};
struct MemoryFormat {
  std::string name;
  bool operator==(const MemoryFormat&) const = default;
};

/// A reference to a tensor: in a graph a value id, in a prepared extern call the position of its tensor.
struct Ref {
  std::int32_t id = -1;
  bool operator==(const Ref&) const = default;
};

struct Arg;
using ArgList = std::vector<Arg>;

/// One argument of an operator, as its schema takes it.
/// JSON: null | true | 3 | {"f": 0.5} | {"f": "inf"} | {"ref": 4} | {"s": "mean"} | {"dtype": "float32"} |
///       {"device": "cuda:0"} | {"layout": "strided"} | {"memory_format": "..."} | {"c": [re, im]} | [ ... ]
struct Arg {
  std::variant<None, Ref, bool, std::int64_t, double, Complex, std::string, DType, Device, Layout, MemoryFormat,
               ArgList>
      v;
  /// Same kind, same bits: 0.0 differs from -0.0, and a NaN equals itself.
  bool operator==(const Arg&) const;

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(v);
  }
  template <class T>
  const T& as() const {
    return std::get<T>(v);
  }
};

struct NamedArg {
  std::string name;
  Arg value;
  bool operator==(const NamedArg&) const;
};

/// The argument of that name, null when it is left out.
const Arg* find_arg(const std::vector<NamedArg>& args, std::string_view name);
/// A list of integers as an Arg, and back; InternalError when `arg` is something else.
Arg int_list(const std::vector<std::int64_t>& values);
std::vector<std::int64_t> as_int_list(const Arg& arg);

/// Every tensor reference in `args`, in order of appearance, lists included.
std::vector<std::int32_t> references(const std::vector<NamedArg>& args);
/// `args` with each reference replaced by map(id).
std::vector<NamedArg> remap_references(const std::vector<NamedArg>& args, const std::vector<std::int32_t>& map);

std::string device_name(const Device& device);  ///< "cpu", "cuda:0"
Device device_from_name(const std::string& name);

void to_json(Json& json, const TensorType& type);
void from_json(const Json& json, TensorType& type);
void to_json(Json& json, const Arg& arg);
void from_json(const Json& json, Arg& arg);
void to_json(Json& json, const NamedArg& arg);
void from_json(const Json& json, NamedArg& arg);

}  // namespace cudaagent
