#include "rewrite/elementwise.h"

#include "rewrite/promote.h"

namespace cudaagent::rewrite {

DType common_dtype(const Builder& b, const std::vector<Operand>& operands) {
  Promotion promotion;
  for (const Operand& operand : operands) {
    if (operand.is_value())
      promotion.add_tensor(b.type(operand.value()));
    else
      promotion.add_number(operand.number());
  }
  return promotion.result();
}

Unified unify(Builder& b, std::vector<Operand> operands, DType common) {
  Unified unified{{}, common};
  bool tensor = false;
  for (const Operand& operand : operands) tensor |= operand.is_value();
  for (const Operand& operand : operands) {
    if (operand.is_value()) {
      unified.operands.push_back(b.compute(operand.value(), common));
    } else if (!tensor) {
      unified.operands.push_back(b.full({}, compute_dtype(common), operand.number()));
      tensor = true;
    } else {
      unified.operands.push_back(operand);
    }
  }
  return unified;
}

Unified unify_float(Builder& b, const Call& c, std::vector<Operand> operands) {
  DType common = common_dtype(b, operands);
  if (!is_float(common)) common = c.out().dtype;
  if (!is_float(common) || common != c.out().dtype) {
    b.refuse(std::string("a result in ") + dtype_name(c.out().dtype));
    common = DType::f32;
  }
  return unify(b, std::move(operands), common);
}

Unified unify_checked(Builder& b, const Call& c, std::vector<Operand> operands) {
  const DType common = common_dtype(b, operands);
  if (common != c.out().dtype) {
    b.refuse(std::string("promoted to ") + dtype_name(common) + " but captured as " + dtype_name(c.out().dtype));
  }
  return unify(b, std::move(operands), common);
}

Val float_input(Builder& b, const Call& c, std::string_view name) {
  return unify_float(b, c, {c.operand(name)}).operands[0].value();
}

}  // namespace cudaagent::rewrite
