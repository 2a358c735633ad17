#include "schedule/inst_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cudaagent::schedule {

namespace {

std::string key_of(const Inst& inst) {
  std::string key = std::to_string(static_cast<int>(inst.kind)) + inst.fn + ":" +
                    std::to_string(static_cast<int>(inst.reduce)) + ":" + std::to_string(static_cast<int>(inst.dtype)) +
                    (inst.element ? "e" : "r");
  for (const std::int32_t operand : inst.operands) key += "," + std::to_string(operand);
  key += "@" + std::to_string(inst.access.buffer) + "+" + std::to_string(inst.access.offset);
  for (const std::int64_t stride : inst.access.strides) key += "," + std::to_string(stride);
  if (inst.kind == InstKind::constant) key += Json(inst.constant).dump();
  return key;
}

}  // namespace

bool InstList::varies_along_row(const Access& access) const {
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    if (axes_[a].reduced && access.strides[a] != 0) return true;
  }
  return false;
}

std::int32_t InstList::add(Inst inst) {
  for (const std::int32_t operand : inst.operands) {
    const Inst& source = insts_[static_cast<std::size_t>(operand)];
    inst.stage = std::max(inst.stage, source.stage + (source.kind == InstKind::reduce ? 1 : 0));
    if (inst.kind == InstKind::map) inst.element = inst.element || source.element;
  }
  const auto [it, fresh] = known_.try_emplace(key_of(inst), static_cast<std::int32_t>(insts_.size()));
  if (fresh) insts_.push_back(std::move(inst));
  return it->second;
}

std::int32_t InstList::load(Access access, DType dtype) {
  Inst inst;
  inst.kind = InstKind::load;
  inst.dtype = dtype;
  inst.element = varies_along_row(access);
  inst.access = std::move(access);
  return add(std::move(inst));
}

std::int32_t InstList::constant(Arg value, DType dtype) {
  Inst inst;
  inst.kind = InstKind::constant;
  inst.dtype = dtype;
  inst.constant = std::move(value);
  return add(std::move(inst));
}

std::int32_t InstList::index(Access access) {
  Inst inst;
  inst.kind = InstKind::index;
  inst.dtype = DType::i64;
  inst.element = varies_along_row(access);
  inst.access = std::move(access);
  return add(std::move(inst));
}

std::int32_t InstList::map(const std::string& fn, std::vector<std::int32_t> operands, DType dtype) {
  Inst inst;
  inst.fn = fn;
  inst.dtype = dtype;
  inst.operands = std::move(operands);
  return add(std::move(inst));
}

std::int32_t InstList::spread(std::int32_t operand) {
  if (is_element(operand)) return operand;
  Inst inst;
  inst.fn = "convert";
  inst.dtype = dtype(operand);
  inst.operands = {operand};
  inst.element = true;
  return add(std::move(inst));
}

std::int32_t InstList::reduce(ir::ReduceKind kind, std::int32_t operand, DType dtype) {
  Inst inst;
  inst.kind = InstKind::reduce;
  inst.reduce = kind;
  inst.dtype = dtype;
  inst.operands = {spread(operand)};
  return add(std::move(inst));
}

void InstList::store(std::int32_t operand, Access access, DType dtype) {
  Inst inst;
  inst.kind = InstKind::store;
  inst.dtype = dtype;
  inst.operands = {operand};
  inst.element = varies_along_row(access);
  inst.access = std::move(access);
  add(std::move(inst));
}

}  // namespace cudaagent::schedule
