// Truth and eager for one set of inputs, through the host.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/runtime.h"
#include "verify/strided.h"

namespace cudaagent::verify {

/// Relative size of the perturbation behind Answer::perturbed: above fp64's rounding, and so small that an element
/// almost never crosses a step (floor, a comparison), whose response would say nothing.
inline constexpr double perturbation = 0x1p-36;
/// The same behind Answer::nudged: above the rounding of f32, in which a sum may land on the other side of a corner.
inline constexpr double nudge = 0x1p-20;

/// What one output of the claim should be. Tensors are on the CPU, of any layout.
struct Answer {
  Tensor eager;  ///< in the claim's own dtype (bf16 for precision="medium")
  Tensor truth;  ///< fp64; integers and bool in their own dtype
  /// Truth of inputs that each moved by `perturbation`: how much the result hangs on its inputs' last bits.
  std::vector<Tensor> perturbed;
  /// Truth of inputs that each moved by `nudge`: the size of the terms behind zeros that are flat (relu of a sum below
  /// zero), which neither truth nor `perturbed` shows.
  std::vector<Tensor> nudged;
  /// Of an index (argmax): the fp64 values it points into, and along which dim (none: flattened).
  Tensor pointed_at;
  std::optional<std::int64_t> dim;
  DType pointed_dtype = DType::f32;  ///< their dtype in the claim
};

class Yardstick {
 public:
  Yardstick(const ir::Graph& truth, Precision precision, const Device& device, TensorHost& host);

  /// `inputs` on the CPU, in their own dtypes. Throws what the host's operators throw.
  std::vector<Answer> answer(std::span<const Tensor> inputs) const;
  /// Adds Answer::perturbed. It costs more runs of the truth, and most kernels pass without.
  void add_perturbed(std::vector<Answer>& answers, std::span<const Tensor> inputs, std::uint64_t seed) const;
  /// Adds Answer::nudged, which fewer still need.
  void add_nudged(std::vector<Answer>& answers, std::span<const Tensor> inputs, std::uint64_t seed) const;

  /// The tensor's memory; it must be on the CPU.
  Elements elements(const Tensor& tensor) const;
  TensorHost& host() const { return host_; }

 private:
  /// Where an index output's operand comes back among the truth's outputs.
  struct Index {
    std::size_t output, operand;
    std::optional<std::int64_t> dim;
    DType dtype;
  };
  std::vector<Index> find_indices(const ir::Graph& truth) const;
  Tensor on_device(const Tensor& input, std::optional<DType> dtype) const;
  Tensor on_cpu(const Tensor& tensor) const;
  std::vector<Tensor> perturbed_inputs(std::span<const Tensor> inputs, double size, std::uint64_t seed) const;
  /// Outputs of the truth for inputs that moved by `size`.
  std::vector<Tensor> perturbed_truth(std::span<const Tensor> inputs, double size, std::uint64_t seed) const;

  Device device_;
  TensorHost& host_;
  std::optional<DType> eager_dtype_;
  std::size_t outputs_;
  std::vector<Index> indices_;
  std::unique_ptr<runtime::Interpreter> eager_, truth_;
};

}  // namespace cudaagent::verify
