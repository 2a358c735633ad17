#include "runtime/steps.h"

#include <cstring>

#include "ir/ir.h"

namespace cudaagent::runtime {

namespace {

// Device kernels read 16 bytes at a time from a buffer's first element.
constexpr std::uintptr_t device_alignment = 16;

bool launches_nothing(const codegen::Launch& launch, codegen::Language language) {
  if (language == codegen::Language::host) return launch.count == 0;
  return launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0;
}

void expect_success(const Outcome<int>& outcome, const std::string& kernel) {
  if (!outcome) throw InternalError("kernel " + kernel + " was not launched: " + outcome.rejection().reason);
}

}  // namespace

void ExternStep::run(Frame& frame) const {
  std::vector<Tensor> inputs;
  inputs.reserve(operands_.size());
  for (const OperandId id : operands_) inputs.push_back(frame.operand(id));
  std::vector<Tensor> returned = call_->run(inputs);
  for (const Result& result : results_) {
    if (result.index >= returned.size() || !returned[result.index]) {
      throw InternalError(op_ + " returned no tensor where the graph has one");
    }
    frame.put(result.base, laid_out(std::move(returned[result.index]), result, frame.host));
    if (result.located) frame.locate(result.base);
  }
}

Tensor ExternStep::laid_out(Tensor tensor, const Result& result, TensorHost& host) const {
  if (!result.planned_layout || host.matches(tensor, result.type)) return tensor;
  const TensorType actual = host.type(tensor);
  if (actual.dims != result.type.dims) {
    throw InternalError(op_ + " returned " + ir::print_type(actual) + ", the graph says " +
                        ir::print_type(result.type));
  }
  Tensor planned = host.empty(result.type);
  host.copy(planned, tensor);
  return planned;
}

KernelStep::KernelStep(std::shared_ptr<Kernel> kernel, Device device, std::vector<Buffer> buffers,
                       std::vector<std::int64_t> scratch_offsets)
    : kernel_(std::move(kernel)),
      device_(device),
      buffers_(std::move(buffers)),
      scratch_offsets_(std::move(scratch_offsets)) {
  const codegen::Source& source = kernel_->source;
  for (const codegen::Launch& launch : source.launches) {
    if (launches_nothing(launch, source.language)) continue;
    Call call{kernel_->module->kernel(launch.kernel), &launch, {}};
    for (const codegen::KernelArg& arg : launch.args) {
      const bool scratch = arg.kind == codegen::KernelArg::Kind::scratch;
      const std::size_t limit = scratch ? source.scratch.size() : buffers_.size();
      const auto index = static_cast<std::size_t>(arg.index);
      if (index >= limit) throw InternalError("kernel " + launch.kernel + " takes a buffer its region lacks");
      call.args.push_back(index + (scratch ? buffers_.size() : 0));
    }
    calls_.push_back(std::move(call));
  }
}

void KernelStep::allocate(Frame& frame) const {
  for (const Buffer& buffer : buffers_) {
    if (!buffer.allocate) continue;
    frame.put(buffer.base, frame.host.empty(buffer.type));
    frame.locate(buffer.base);
  }
}

// Inputs and views may start anywhere; one that starts off the border is copied to where kernels can read it.
void* KernelStep::aligned_address(Frame& frame, const Buffer& buffer) const {
  void* address = frame.operand_address(buffer.operand);
  const bool fits = reinterpret_cast<std::uintptr_t>(address) % device_alignment == 0;
  if (fits || buffer.output || device_.type != DeviceType::cuda) return address;
  Tensor copy = frame.host.empty(buffer.type);
  frame.host.copy(copy, frame.operand(buffer.operand));
  address = frame.host.data(copy);
  frame.keep(std::move(copy));
  return address;
}

void KernelStep::zero_scratch(Frame& frame, const std::vector<void*>& pointers) const {
  const auto& scratch = kernel_->source.scratch;
  for (std::size_t s = 0; s < scratch.size(); ++s) {
    if (!scratch[s].zeroed || scratch[s].bytes == 0) continue;
    void* pointer = pointers[buffers_.size() + s];
    if (device_.type == DeviceType::cuda) {
      expect_success(jit::zero_cuda(pointer, scratch[s].bytes, frame.stream(device_)), "memset");
    } else {
      std::memset(pointer, 0, static_cast<std::size_t>(scratch[s].bytes));
    }
  }
}

void KernelStep::launch_host(Frame& frame, const Call& call, void* const* args) const {
  const auto kernel = reinterpret_cast<jit::HostKernel>(call.function);
  const std::int64_t count = call.launch->count;
  const auto range = frame.host.profile_range(call.launch->kernel);
  if (count <= call.launch->grain) {
    kernel(args, 0, count);
    return;
  }
  frame.host.parallel_for(count, call.launch->grain,
                          [kernel, args](std::int64_t begin, std::int64_t end) { kernel(args, begin, end); });
}

void KernelStep::launch_device(Frame& frame, const Call& call, void* const* args) const {
  expect_success(jit::launch_cuda(call.function, *call.launch, args, frame.stream(device_)), call.launch->kernel);
}

void KernelStep::run(Frame& frame) const {
  allocate(frame);
  if (calls_.empty()) return;
  std::vector<void*> pointers;
  pointers.reserve(buffers_.size() + scratch_offsets_.size());
  for (const Buffer& buffer : buffers_) pointers.push_back(aligned_address(frame, buffer));
  for (const std::int64_t offset : scratch_offsets_) pointers.push_back(frame.address(arena_base, offset));
  zero_scratch(frame, pointers);
  std::vector<void*> args;
  for (const Call& call : calls_) {
    args.clear();
    for (const std::size_t index : call.args) args.push_back(pointers[index]);
    if (kernel_->source.language == codegen::Language::host) {
      launch_host(frame, call, args.data());
    } else {
      launch_device(frame, call, args.data());
    }
  }
}

}  // namespace cudaagent::runtime
