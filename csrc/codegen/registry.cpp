#include "codegen/registry.h"

namespace cudaagent::codegen {

const std::vector<Template>& templates() {
  static const std::vector<Template> all = {
      host_map(),       host_reduce_rows(), host_reduce_columns(), host_reduce_split(), cuda_map(),
      cuda_map_tiled(), cuda_reduce_rows(), cuda_reduce_columns(), cuda_reduce_split(),
  };
  return all;
}

}  // namespace cudaagent::codegen
