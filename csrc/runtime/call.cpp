#include "runtime/call.h"

#include <algorithm>

namespace cudaagent::runtime {

Call make_call(const ir::Node& node) {
  Call call;
  const std::vector<std::int32_t> read = references(node.args);
  if (read.empty()) return {{}, node.args};
  std::vector<std::int32_t> positions(static_cast<std::size_t>(*std::max_element(read.begin(), read.end())) + 1, -1);
  for (const std::int32_t value : read) {
    std::int32_t& position = positions.at(static_cast<std::size_t>(value));
    if (position >= 0) continue;
    position = static_cast<std::int32_t>(call.operands.size());
    call.operands.push_back(value);
  }
  call.args = remap_references(node.args, positions);
  return call;
}

}  // namespace cudaagent::runtime
