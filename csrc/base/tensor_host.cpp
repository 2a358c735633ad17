#include "base/tensor_host.h"

namespace cudaagent {

Tensor::Hooks& Tensor::hooks() {
  static Hooks hooks;
  return hooks;
}

}  // namespace cudaagent
