// What a Tensor handle of PlainHost points to.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/base.h"

namespace cudaagent::testing {

struct PlainStorage {
  explicit PlainStorage(std::int64_t bytes);
  ~PlainStorage();
  std::vector<std::byte> bytes;
  std::atomic<std::int64_t> version{0};
};

struct PlainTensor {
  PlainTensor(std::shared_ptr<PlainStorage> storage, TensorType type, std::int64_t byte_offset);
  ~PlainTensor();
  std::byte* data() const { return storage->bytes.data() + byte_offset; }

  std::shared_ptr<PlainStorage> storage;
  TensorType type;
  std::int64_t byte_offset;
  std::atomic<std::int64_t> references{1};
};

inline PlainTensor& plain(const Tensor& tensor) { return *static_cast<PlainTensor*>(tensor.get()); }

/// Calls visit(index) for every index of `dims` in row-major order.
void for_each_index(const std::vector<std::int64_t>& dims,
                    const std::function<void(const std::vector<std::int64_t>&)>& visit);
/// Address of the element at `index` of the broadcast result, aligned right.
std::byte* element(const PlainTensor& tensor, const std::vector<std::int64_t>& index);

}  // namespace cudaagent::testing
