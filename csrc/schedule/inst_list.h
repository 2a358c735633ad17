// The instructions of a body in the making: equal ones exist once.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedule/schedule.h"

namespace cudaagent::schedule {

class InstList {
 public:
  explicit InstList(const std::vector<Axis>& axes) : axes_(axes) {}

  std::int32_t load(Access access, DType dtype);
  std::int32_t constant(Arg value, DType dtype);
  std::int32_t index(Access access);
  std::int32_t map(const std::string& fn, std::vector<std::int32_t> operands, DType dtype);
  /// The operand as an element-level value, which a reduction asks for even where the row shares one value.
  std::int32_t spread(std::int32_t operand);
  std::int32_t reduce(ir::ReduceKind kind, std::int32_t operand, DType dtype);
  void store(std::int32_t operand, Access access, DType dtype);

  DType dtype(std::int32_t inst) const { return insts_[static_cast<std::size_t>(inst)].dtype; }
  bool is_element(std::int32_t inst) const { return insts_[static_cast<std::size_t>(inst)].element; }
  std::vector<Inst> take() { return std::move(insts_); }

 private:
  std::int32_t add(Inst inst);
  bool varies_along_row(const Access& access) const;

  const std::vector<Axis>& axes_;
  std::vector<Inst> insts_;
  std::map<std::string, std::int32_t> known_;
};

}  // namespace cudaagent::schedule
