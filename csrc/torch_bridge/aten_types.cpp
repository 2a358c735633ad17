#include "torch_bridge/aten_types.h"

#include <array>
#include <utility>

namespace cudaagent::bridge {

namespace {

constexpr std::array<std::pair<DType, c10::ScalarType>, 18> dtypes{{
    {DType::f32, c10::ScalarType::Float},
    {DType::f64, c10::ScalarType::Double},
    {DType::f16, c10::ScalarType::Half},
    {DType::bf16, c10::ScalarType::BFloat16},
    {DType::i8, c10::ScalarType::Char},
    {DType::i16, c10::ScalarType::Short},
    {DType::i32, c10::ScalarType::Int},
    {DType::i64, c10::ScalarType::Long},
    {DType::u8, c10::ScalarType::Byte},
    {DType::b8, c10::ScalarType::Bool},
    {DType::c64, c10::ScalarType::ComplexFloat},
    {DType::c128, c10::ScalarType::ComplexDouble},
    {DType::c32, c10::ScalarType::ComplexHalf},
    {DType::u16, c10::ScalarType::UInt16},
    {DType::u32, c10::ScalarType::UInt32},
    {DType::u64, c10::ScalarType::UInt64},
    {DType::f8e4m3fn, c10::ScalarType::Float8_e4m3fn},
    {DType::f8e5m2, c10::ScalarType::Float8_e5m2},
}};

template <class T, std::size_t N>
T by_name(const std::array<std::pair<const char*, T>, N>& table, const std::string& name, const char* what) {
  for (const auto& [key, value] : table) {
    if (name == key) return value;
  }
  throw UserError(std::string("unknown ") + what + " \"" + name + "\"");
}

}  // namespace

c10::ScalarType scalar_type(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  if (index >= dtypes.size()) throw UserError("an operator takes an element type that cudaagent does not know");
  return dtypes[index].second;
}

DType dtype_of(c10::ScalarType type) {
  for (const auto& [dtype, scalar] : dtypes) {
    if (scalar == type) return dtype;
  }
  return DType::other;
}

c10::Device aten_device(const Device& device) {
  switch (device.type) {
    case DeviceType::cpu:
      return c10::Device(c10::DeviceType::CPU);
    case DeviceType::cuda:
      return c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device.index));
    case DeviceType::meta:
      return c10::Device(c10::DeviceType::Meta);
  }
  throw InternalError("a device type without an ATen counterpart");
}

Device device_of(const c10::Device& device) {
  const int index = device.has_index() ? device.index() : 0;
  if (device.is_cpu()) return {DeviceType::cpu, 0};
  if (device.is_cuda()) return {DeviceType::cuda, index};
  if (device.is_meta()) return {DeviceType::meta, 0};
  throw UserError("cudaagent runs on cpu and cuda; this tensor is on " + device.str());
}

c10::Layout aten_layout(const Layout& layout) {
  static constexpr std::array<std::pair<const char*, c10::Layout>, 7> table{{{"strided", c10::Layout::Strided},
                                                                             {"sparse_coo", c10::Layout::Sparse},
                                                                             {"sparse_csr", c10::Layout::SparseCsr},
                                                                             {"sparse_csc", c10::Layout::SparseCsc},
                                                                             {"sparse_bsr", c10::Layout::SparseBsr},
                                                                             {"sparse_bsc", c10::Layout::SparseBsc},
                                                                             {"jagged", c10::Layout::Jagged}}};
  return by_name(table, layout.name, "layout");
}

c10::MemoryFormat aten_memory_format(const MemoryFormat& format) {
  static constexpr std::array<std::pair<const char*, c10::MemoryFormat>, 4> table{
      {{"contiguous_format", c10::MemoryFormat::Contiguous},
       {"preserve_format", c10::MemoryFormat::Preserve},
       {"channels_last", c10::MemoryFormat::ChannelsLast},
       {"channels_last_3d", c10::MemoryFormat::ChannelsLast3d}}};
  return by_name(table, format.name, "memory format");
}

}  // namespace cudaagent::bridge
