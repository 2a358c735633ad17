#include <map>

#include "codegen/cuda_kernel.h"

namespace cudaagent::codegen {

/// The programming guide's table of what each compute capability has; of an unknown one, what all have.
std::int64_t Target::shared_bytes() const {
  static const std::map<int, std::int64_t> known = {{80, 163},  {87, 163},  {86, 99},  {89, 99}, {90, 227},
                                                    {100, 227}, {103, 227}, {120, 99}, {121, 99}};
  const auto found = known.find(cuda::compute_capability(*this));
  return (found == known.end() ? 48 : found->second) << 10;
}

}  // namespace cudaagent::codegen
