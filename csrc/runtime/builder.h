// From a plan to the steps of a program: everything that can be worked out before the first call.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/places.h"
#include "runtime/steps.h"

namespace cudaagent::runtime {

/// How one output of the graph is made once every step has run.
struct Give {
  enum class Kind : std::uint8_t {
    nothing,  ///< a constant: the caller knows it
    tensor,   ///< the operand's tensor, which shares memory exactly where eager's does
    copy,     ///< a fresh tensor with the operand's contents from before inputs are updated
  } kind = Kind::nothing;
  OperandId operand = 0;
};

/// Input `input` receives the contents of `operand`.
struct Update {
  std::size_t input = 0;
  OperandId operand = 0;
  bool copy_first = false;  ///< the source is an input that is updated too
};

struct Blueprint {
  std::size_t bases = 1;
  std::int64_t arena_bytes = 0;
  Device arena_device;
  std::vector<Operand> operands;
  std::vector<BaseId> located_inputs;  ///< inputs whose address a kernel needs
  std::vector<std::unique_ptr<Step>> steps;
  std::vector<Give> gives;
  std::vector<Update> updates;
};

/// Throws UserError when an output shares memory with an input in a way that no view can express.
Blueprint build(const schedule::Plan& plan, const std::vector<std::shared_ptr<Kernel>>& kernels, TensorHost& host);

}  // namespace cudaagent::runtime
