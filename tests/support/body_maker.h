// Loop bodies written by hand, one call an instruction, for tests of code generation.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace cudaagent::testing {

class BodyMaker {
 public:
  using Strides = std::vector<std::int64_t>;

  BodyMaker(const std::vector<std::int64_t>& kept, const std::vector<std::int64_t>& reduced) {
    for (const std::int64_t extent : kept) body_.axes.push_back({extent, false});
    for (const std::int64_t extent : reduced) body_.axes.push_back({extent, true});
  }

  /// A load from a buffer of its own.
  std::int32_t load(DType dtype, Strides strides, std::int64_t offset = 0) {
    return load_from(add_buffer(dtype, strides, offset, false), std::move(strides), offset);
  }
  std::int32_t load_from(std::int32_t buffer, Strides strides, std::int64_t offset = 0) {
    schedule::Inst inst;
    inst.kind = schedule::InstKind::load;
    inst.dtype = body_.buffers[static_cast<std::size_t>(buffer)].dtype;
    inst.element = varies_in_row(strides);
    inst.access = {buffer, offset, std::move(strides)};
    return add(std::move(inst));
  }
  std::int32_t constant(Arg value, DType dtype) {
    schedule::Inst inst;
    inst.kind = schedule::InstKind::constant;
    inst.dtype = dtype;
    inst.constant = std::move(value);
    return add(std::move(inst));
  }
  std::int32_t index(Strides strides, std::int64_t offset = 0) {
    schedule::Inst inst;
    inst.kind = schedule::InstKind::index;
    inst.dtype = DType::i64;
    inst.element = varies_in_row(strides);
    inst.access = {-1, offset, std::move(strides)};
    return add(std::move(inst));
  }
  std::int32_t map(const std::string& fn, std::vector<std::int32_t> operands) {
    schedule::Inst inst;
    inst.fn = fn;
    const ir::MapFn* info = ir::find_map_fn(fn);
    inst.dtype = info && info->predicate ? DType::b8 : at(operands.back()).dtype;
    inst.operands = std::move(operands);
    return add(std::move(inst));
  }
  std::int32_t convert(std::int32_t operand, DType dtype) {
    if (at(operand).dtype == dtype) return operand;
    schedule::Inst inst;
    inst.fn = "convert";
    inst.dtype = dtype;
    inst.operands = {operand};
    return add(std::move(inst));
  }
  std::int32_t reduce(ir::ReduceKind kind, std::int32_t operand) {
    schedule::Inst inst;
    inst.kind = schedule::InstKind::reduce;
    inst.reduce = kind;
    inst.dtype = kind == ir::ReduceKind::argmax || kind == ir::ReduceKind::argmin ? DType::i64
                 : kind == ir::ReduceKind::any || kind == ir::ReduceKind::all     ? DType::b8
                                                                                  : at(operand).dtype;
    inst.operands = {operand};
    return add(std::move(inst));
  }
  void store(std::int32_t operand, Strides strides, std::int64_t offset = 0) {
    schedule::Inst inst;
    inst.kind = schedule::InstKind::store;
    inst.dtype = at(operand).dtype;
    inst.operands = {operand};
    inst.element = varies_in_row(strides);
    inst.access = {add_buffer(inst.dtype, strides, offset, true), offset, std::move(strides)};
    add(std::move(inst));
  }

  DType dtype(std::int32_t inst) const { return at(inst).dtype; }
  schedule::Body body() const {
    schedule::Body result = body_;
    for (const schedule::Inst& inst : result.insts) result.stages = std::max(result.stages, inst.stage + 1);
    return result;
  }

 private:
  const schedule::Inst& at(std::int32_t inst) const { return body_.insts[static_cast<std::size_t>(inst)]; }
  bool varies_in_row(const Strides& strides) const {
    for (std::size_t a = 0; a < strides.size(); ++a)
      if (body_.axes[a].reduced && strides[a] != 0) return true;
    return false;
  }
  std::int32_t add_buffer(DType dtype, const Strides& strides, std::int64_t offset, bool output) {
    std::int64_t span = offset + 1;
    for (std::size_t a = 0; a < strides.size(); ++a)
      if (strides[a] > 0) span += strides[a] * (body_.axes[a].extent - 1);
    schedule::Buffer buffer;
    buffer.value = static_cast<ir::ValueId>(body_.buffers.size());
    buffer.dtype = dtype;
    buffer.span = span;
    buffer.output = output;
    body_.buffers.push_back(buffer);
    return static_cast<std::int32_t>(body_.buffers.size()) - 1;
  }
  std::int32_t add(schedule::Inst inst) {
    for (const std::int32_t operand : inst.operands) {
      const schedule::Inst& source = at(operand);
      const bool reduce = source.kind == schedule::InstKind::reduce;
      inst.stage = std::max(inst.stage, source.stage + (reduce ? 1 : 0));
      if (inst.kind != schedule::InstKind::reduce && source.element) inst.element = true;
    }
    body_.insts.push_back(std::move(inst));
    return static_cast<std::int32_t>(body_.insts.size()) - 1;
  }

  schedule::Body body_;
};

}  // namespace cudaagent::testing
