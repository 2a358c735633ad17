#include "runtime/frame.h"

namespace cudaagent::runtime {

Frame::Frame(TensorHost& host, const std::vector<Operand>& operands, std::span<const Tensor* const> inputs,
             std::size_t bases)
    : host(host), operands_(operands), inputs_(inputs), tensors_(bases), data_(bases), views_(operands.size()) {}

void Frame::put(BaseId base, Tensor tensor) { tensors_[static_cast<std::size_t>(base)] = std::move(tensor); }

const Tensor& Frame::tensor(BaseId base) const {
  const auto index = static_cast<std::size_t>(base);
  return index >= 1 && index <= inputs_.size() ? *inputs_[index - 1] : tensors_[index];
}

const Tensor& Frame::operand(OperandId id) {
  const Operand& operand = operands_[static_cast<std::size_t>(id)];
  const Tensor& base = tensor(operand.base);
  if (operand.whole) return base;
  Tensor& view = views_[static_cast<std::size_t>(id)];
  if (!view) view = host.view(base, operand.type, host.storage_offset_bytes(base) + operand.offset);
  return view;
}

void* Frame::stream(const Device& device) {
  if (!(device == stream_device_)) {
    stream_ = host.current_stream(device);
    stream_device_ = device;
  }
  return stream_;
}

}  // namespace cudaagent::runtime
