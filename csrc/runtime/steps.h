// What a program does between its guards and its results: one step per extern or generated region.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/frame.h"
#include "runtime/runtime.h"

namespace cudaagent::runtime {

class Step {
 public:
  virtual ~Step() = default;
  virtual void run(Frame& frame) const = 0;

  /// Memory nobody reads after this step.
  std::vector<BaseId> spent_bases;
  std::vector<OperandId> spent_views;
};

/// One operator called through the host.
class ExternStep : public Step {
 public:
  struct Result {
    std::size_t index = 0;  ///< among what the operator returns
    BaseId base = 0;
    /// A kernel or a view counts on the planned strides and dtype: another layout is copied into it.
    bool planned_layout = false;
    bool located = false;  ///< a kernel needs its address
    TensorType type;
  };

  ExternStep(std::string op, std::unique_ptr<ExternCall> call, std::vector<OperandId> operands,
             std::vector<Result> results)
      : op_(std::move(op)), call_(std::move(call)), operands_(std::move(operands)), results_(std::move(results)) {}
  void run(Frame& frame) const override;

 private:
  Tensor laid_out(Tensor tensor, const Result& result, TensorHost& host) const;

  std::string op_;
  std::unique_ptr<ExternCall> call_;
  std::vector<OperandId> operands_;
  std::vector<Result> results_;
};

/// The launches of one generated region.
class KernelStep : public Step {
 public:
  struct Buffer {
    OperandId operand = 0;
    bool allocate = false;  ///< an output with a tensor of its own, made here
    bool output = false;
    BaseId base = 0;
    TensorType type;
  };

  KernelStep(std::shared_ptr<Kernel> kernel, Device device, std::vector<Buffer> buffers,
             std::vector<std::int64_t> scratch_offsets);
  void run(Frame& frame) const override;

 private:
  struct Call {
    void* function = nullptr;
    const codegen::Launch* launch = nullptr;
    std::vector<std::size_t> args;  ///< into the buffers, then the scratch blocks
  };

  void allocate(Frame& frame) const;
  void* aligned_address(Frame& frame, const Buffer& buffer) const;
  void zero_scratch(Frame& frame, const std::vector<void*>& pointers) const;
  void launch_host(Frame& frame, const Call& call, void* const* args) const;
  void launch_device(Frame& frame, const Call& call, void* const* args) const;

  std::shared_ptr<Kernel> kernel_;
  Device device_;
  std::vector<Buffer> buffers_;
  std::vector<std::int64_t> scratch_offsets_;
  std::vector<Call> calls_;
};

}  // namespace cudaagent::runtime
