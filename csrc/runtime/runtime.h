// Public header of the room `runtime`: a plan and its loaded kernels become a Program that can be called.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/jit.h"
#include "schedule/schedule.h"

namespace cudaagent::runtime {

/// A generated region with what runs it.
struct Kernel {
  codegen::Source source;
  std::shared_ptr<jit::Module> module;
};

/// Where every intermediate lives in the one block a call allocates.
struct Arena {
  struct Slot {
    ir::ValueId value = ir::no_value;
    std::int64_t offset = 0, bytes = 0;
    int first = 0, last = 0;  ///< region indices between which the slot is live
  };
  std::vector<Slot> slots;
  std::vector<std::int64_t> scratch_offsets;  ///< flattened over regions and their scratch buffers
  std::int64_t bytes = 0;
};
/// Best-fit by lifetime; every slot aligned to 256 bytes. Values returned to the caller are allocated on their own.
Arena plan_memory(const schedule::Plan& plan, const std::vector<const codegen::Source*>& sources);

/// Thrown by Program::run before anything is written, when an input is not what the program was built for.
struct GuardFailure {
  std::string reason;
};

class Program {
 public:
  virtual ~Program() = default;
  /// `inputs` in the graph's order, bound ones skipped. One Tensor per graph output; undefined for constants.
  /// Safe from several threads. Throws GuardFailure, or what an extern operator throws.
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs) = 0;
  /// Puts other tensors behind the bound inputs (parameters and buffers), in the graph's order.
  virtual void bind(std::vector<Tensor> bound) = 0;
};

/// `kernels[r]` serves plan.regions[r]; null for extern and view regions. `bound[i]` says that graph input i is bound.
std::unique_ptr<Program> make_program(const schedule::Plan& plan, std::vector<std::shared_ptr<Kernel>> kernels,
                                      std::vector<bool> bound, TensorHost& host);

/// Runs any graph of ATen nodes node by node through the host: how truth and eager are computed. Inputs are only read:
/// a caller that wants a mutation's value lists it among the outputs.
/// Calls are prepared once, so that timing eager times the operators.
class Interpreter {
 public:
  Interpreter(const ir::Graph& graph, TensorHost& host);
  ~Interpreter();
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;
  /// The same with `around(node, call)` in place of each node's call; it must make that call once.
  using Around = std::function<void(std::size_t node, const std::function<void()>& call)>;
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Around& around) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Interpreter(graph, host).run(inputs).
std::vector<Tensor> interpret(const ir::Graph& graph, std::span<const Tensor> inputs, TensorHost& host);

}  // namespace cudaagent::runtime
