#include <algorithm>
#include <array>

#include "jit/driver.h"
#include "jit/jit.h"

namespace cudaagent::jit {
namespace {

constexpr std::int64_t grid_limit[3] = {2147483647, 65535, 65535};

/// Attributes of the launch; returns how many were written.
unsigned set_attributes(const codegen::Launch& launch, std::array<LaunchAttribute, 2>& attributes) {
  unsigned count = 0;
  if (launch.cluster > 1) {
    LaunchAttribute& attribute = attributes[count++];
    attribute.id = cu::launch_cluster_dimension;
    attribute.value.cluster = {static_cast<unsigned>(launch.cluster), 1, 1};
  }
  if (launch.pdl) {
    LaunchAttribute& attribute = attributes[count++];
    attribute.id = cu::launch_programmatic_stream_serialization;
    attribute.value.allowed = 1;
  }
  return count;
}

}  // namespace

Outcome<int> launch_cuda(void* function, const codegen::Launch& launch, void* const* pointers, void* stream) {
  if (!driver()) return Rejection{"jit", driver_absence(), ""};
  LaunchConfig config{};
  for (int i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0) return 0;  // an empty tensor: nothing to do
    if (launch.grid[i] > grid_limit[i]) return Rejection{"jit", "the grid of " + launch.kernel + " is too large", ""};
    config.grid[i] = static_cast<unsigned>(launch.grid[i]);
    config.block[i] = static_cast<unsigned>(launch.block[i]);
  }
  std::array<LaunchAttribute, 2> attributes;
  config.shared_bytes = static_cast<unsigned>(launch.shared_bytes);
  config.stream = static_cast<CUstream>(stream);
  config.attributes = attributes.data();
  config.attribute_count = set_attributes(launch, attributes);

  constexpr std::size_t on_stack = 64;
  std::array<void*, on_stack> few;
  std::vector<void*> many(launch.args.size() > on_stack ? launch.args.size() : 0);
  void** params = many.empty() ? few.data() : many.data();
  for (std::size_t i = 0; i < launch.args.size(); ++i) params[i] = const_cast<void**>(&pointers[i]);

  CUDAAGENT_CHECK_OR_REJECT(driver()->launch(&config, static_cast<CUfunction>(function), params, nullptr));
  return 0;
}

Outcome<int> zero_cuda(void* pointer, std::int64_t bytes, void* stream) {
  if (!driver()) return Rejection{"jit", driver_absence(), ""};
  if (bytes == 0) return 0;
  CUDAAGENT_CHECK_OR_REJECT(driver()->fill_async(reinterpret_cast<CUdeviceptr>(pointer), 0,
                                                 static_cast<std::size_t>(bytes), static_cast<CUstream>(stream)));
  return 0;
}

}  // namespace cudaagent::jit
