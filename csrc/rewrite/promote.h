// Torch's type promotion. Class: exact.
#pragma once

#include "base/base.h"

namespace cudaagent::rewrite {

/// torch.promote_types for the dtypes templates cover.
DType promote_types(DType a, DType b);

/// Folds operands one by one into torch.result_type: tensors with dims outrank 0-dim tensors, which outrank numbers;
/// a lower rank decides the dtype only when its category (bool, integer, float) is higher.
class Promotion {
 public:
  void add_tensor(const TensorType& type);
  void add_number(const Arg& number);  ///< bool, int or double; a double counts as float32, torch's default dtype
  DType result() const;

 private:
  struct Slot {
    bool set = false;
    DType dtype = DType::b8;
    void merge(DType other);
  };
  static Slot combine(const Slot& higher, const Slot& lower);
  Slot dims_, zero_dim_, number_;
};

/// `value` as a constant of `dtype` (double, int64 or bool). A number that an integer dtype cannot hold (NaN,
/// infinity, 1e30) stays the double it was: see fits().
Arg constant_of(const Arg& value, DType dtype);
bool fits(const Arg& value, DType dtype);
double number_of(const Arg& value);

}  // namespace cudaagent::rewrite
