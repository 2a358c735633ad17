// The one expression generator: an instruction of a body as C++ text that both backends compile.
//
// The text calls functions of namespace ca, which each prelude defines: on CUDA over scalars, on the host over scalars
// and over vectors. Both preludes provide
//   ca::<fn>(a, ...)     every function of ir::map_fns() under map_function_name(); operands of one type
//   ca::convert<To>(x)   torch's conversion: float to integer truncates, anything to bool is x != 0
//   ca::half, ca::bfloat16, ca::from_bits<T>(bits), ca::inf<T>(), ca::nan<T>()
// Arithmetic on ca::half and ca::bfloat16 is done in float and rounded once per function.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace cudaagent::codegen {

/// C++ name of an element type: "float", "ca::half", "int64_t", "bool".
std::string ctype(DType dtype);

/// A constant as an expression of type ctype(dtype), exact to the bit. Doubles reach f16 and bf16 through f32, as in
/// torch.
std::string literal(const Arg& value, DType dtype);
std::string literal(double value, DType dtype);
std::string literal(std::int64_t value, DType dtype);

/// Name of a map function in namespace ca; differs where C++ reserves the word ("and" is bit_and).
std::string map_function_name(const std::string& fn);

/// Text of operand `inst` (an index into Body::insts) as the surrounding loop names it.
using Naming = std::function<std::string(std::int32_t inst)>;

/// Expression of a map or constant instruction.
std::string expression(const schedule::Inst& inst, const Naming& operand);

/// offset + sum of strides * index, index[a] being the text of axis a's index; empty text where the index is zero.
/// `suffix` goes behind each number: "ll" computes in 64 bits whatever the indices are, "" in their own type.
std::string affine(const schedule::Access& access, const std::vector<std::string>& index,
                   const std::string& suffix = "ll");

/// Dtype of what a reduce or store consumes.
DType operand_dtype(const schedule::Body& body, const schedule::Inst& inst);
/// Dtype a reduction accumulates in: f32 for f16 and bf16, bool for any and all, else the operand's own.
DType accumulator_dtype(const schedule::Body& body, const schedule::Inst& reduce);
/// Start value of the accumulator. argmax and argmin: of the value half of the pair.
std::string reduce_identity(ir::ReduceKind kind, DType accumulator);
/// ca:: function that joins two accumulators ("ca::add"); empty for argmax and argmin, which carry an index as well.
std::string reduce_function(ir::ReduceKind kind);

}  // namespace cudaagent::codegen
