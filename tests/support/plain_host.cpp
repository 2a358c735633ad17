#include "support/plain_host.h"

#include <algorithm>

#include "support/plain_tensor.h"

namespace cudaagent::testing {

namespace {

std::atomic<std::int64_t> tensors{0};
std::atomic<std::int64_t> storages{0};

}  // namespace

PlainStorage::PlainStorage(std::int64_t count) : bytes(static_cast<std::size_t>(count)) { ++storages; }
PlainStorage::~PlainStorage() { --storages; }

PlainTensor::PlainTensor(std::shared_ptr<PlainStorage> over, TensorType of, std::int64_t offset)
    : storage(std::move(over)), type(std::move(of)), byte_offset(offset) {
  ++tensors;
}
PlainTensor::~PlainTensor() { --tensors; }

void for_each_index(const std::vector<std::int64_t>& dims,
                    const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return;
  std::vector<std::int64_t> index(dims.size(), 0);
  while (true) {
    visit(index);
    std::size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

std::byte* element(const PlainTensor& tensor, const std::vector<std::int64_t>& index) {
  std::int64_t at = 0;
  const std::size_t skip = index.size() - tensor.type.dims.size();
  for (std::size_t d = 0; d < tensor.type.dims.size(); ++d) {
    if (tensor.type.dims[d] != 1) at += index[skip + d] * tensor.type.strides[d];
  }
  return tensor.data() + at * dtype_size(tensor.type.dtype);
}

PlainHost::PlainHost() {
  Tensor::hooks() = {[](void* impl) { ++static_cast<PlainTensor*>(impl)->references; },
                     [](void* impl) {
                       auto* tensor = static_cast<PlainTensor*>(impl);
                       if (--tensor->references == 0) delete tensor;
                     }};
}

Tensor PlainHost::empty(const TensorType& type) {
  ++empties;
  const std::int64_t bytes = type.span() * dtype_size(type.dtype);
  return Tensor::adopt(new PlainTensor(std::make_shared<PlainStorage>(bytes), type, 0));
}

Tensor PlainHost::view(const Tensor& base, const TensorType& type, std::int64_t byte_offset) {
  return Tensor::adopt(new PlainTensor(plain(base).storage, type, byte_offset));
}

void PlainHost::copy(const Tensor& dst, const Tensor& src) {
  const PlainTensor &to = plain(dst), &from = plain(src);
  for_each_index(to.type.dims, [&](const std::vector<std::int64_t>& index) {
    store_element(element(to, index), to.type.dtype, load_element(element(from, index), from.type.dtype));
  });
  ++to.storage->version;
}

Tensor PlainHost::alias(const Tensor& tensor) { return view(tensor, plain(tensor).type, plain(tensor).byte_offset); }

TensorType PlainHost::type(const Tensor& tensor) { return plain(tensor).type; }

bool PlainHost::matches(const Tensor& tensor, const TensorType& type) {
  const TensorType& own = plain(tensor).type;
  if (own.dtype != type.dtype || own.device != type.device || own.dims != type.dims) return false;
  for (std::size_t d = 0; d < own.dims.size(); ++d) {
    if (own.dims[d] > 1 && own.strides[d] != type.strides[d]) return false;
  }
  return true;
}

void* PlainHost::data(const Tensor& tensor) { return plain(tensor).data(); }
std::int64_t PlainHost::storage_offset_bytes(const Tensor& tensor) { return plain(tensor).byte_offset; }

void PlainHost::parallel_for(std::int64_t count, std::int64_t grain,
                             const std::function<void(std::int64_t, std::int64_t)>& body) {
  const std::int64_t chunk = std::max({grain, (count + 2) / 3, std::int64_t{1}});
  for (std::int64_t begin = 0; begin < count; begin += chunk) body(begin, std::min(count, begin + chunk));
}

Tensor PlainHost::make(DType dtype, const std::vector<std::int64_t>& dims, const std::vector<double>& values) {
  Tensor tensor = empty({dtype, dims, contiguous_strides(dims), {}});
  std::byte* at = plain(tensor).data();
  for (std::size_t i = 0; i < values.size(); ++i, at += dtype_size(dtype)) store_element(at, dtype, values[i]);
  return tensor;
}

std::vector<double> PlainHost::values(const Tensor& tensor) {
  std::vector<double> out;
  for_each_index(plain(tensor).type.dims, [&](const std::vector<std::int64_t>& index) {
    out.push_back(load_element(element(plain(tensor), index), plain(tensor).type.dtype));
  });
  return out;
}

std::int64_t PlainHost::version(const Tensor& tensor) const { return plain(tensor).storage->version; }
std::int64_t PlainHost::live_tensors() { return tensors; }
std::int64_t PlainHost::live_storages() { return storages; }

}  // namespace cudaagent::testing
