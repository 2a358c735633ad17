#include "codegen/host_accumulator.h"

namespace cudaagent::codegen {

using ir::ReduceKind;
using schedule::Inst;

HostAccumulator host_accumulator(const schedule::Body& body, std::int32_t reduce) {
  const Inst& inst = body.insts[static_cast<std::size_t>(reduce)];
  HostAccumulator result;
  result.inst = reduce;
  result.argument = inst.reduce == ReduceKind::argmax || inst.reduce == ReduceKind::argmin;
  result.value = accumulator_dtype(body, inst);
  // The largest index stands for "none".
  result.index = body.reduced() < 0x7fffffff ? DType::i32 : DType::i64;
  return result;
}

std::string HostAccumulator::type(const HostWriter& out, bool vector) const {
  const ReduceKind kind = out.body().insts[static_cast<std::size_t>(inst)].reduce;
  if (!argument)
    return "ca::accumulator<ca::reduce_" + std::string(ir::reduce_kind_name(kind)) + ", " + out.type(value, vector) +
           ">";
  const char* order = kind == ReduceKind::argmax ? "ca::greater" : "ca::less";
  return std::string("ca::arg_accumulator<") + order + ", " + out.type(value, vector) + ", " + out.type(index, vector) +
         ">";
}

std::string HostAccumulator::take(const HostWriter& out, const std::string& kept, const std::string& position) const {
  const Inst& reduce = out.body().insts[static_cast<std::size_t>(inst)];
  const std::int32_t operand = reduce.operands[0];
  std::string x = out.operand(operand, true);
  if (out.body().insts[static_cast<std::size_t>(operand)].dtype != value)
    x = "ca::convert<" + ctype(value) + ">(" + x + ")";
  return name("a") + ".take(" + x + ", " + (argument ? position + ", " : "") + kept + ");";
}

std::string HostAccumulator::result(const HostWriter& out, const std::string& joined, bool vector) const {
  if (argument) return vector ? "ca::positions(" + joined + ".index)" : joined + ".position()";
  const Inst& reduce = out.body().insts[static_cast<std::size_t>(inst)];
  if (reduce.dtype == value) return joined + ".value";
  return "ca::convert<" + ctype(reduce.dtype) + ">(" + joined + ".value)";
}

}  // namespace cudaagent::codegen
