#include "runtime/guards.h"

#include <algorithm>
#include <optional>

#include "runtime/places.h"

namespace cudaagent::runtime {

namespace {

constexpr const char* shared_memory = "an input that the model updates in place shares memory with another input";

/// What losses leave out unless told otherwise. Another ignored index sends its calls to PyTorch, which knows it.
constexpr std::int64_t ignored_index = -100;

/// The first element that is neither in [0, count) nor ignored; nothing when all are.
template <class T>
std::optional<std::int64_t> stray_index(const T* data, const TensorType& type, std::int64_t count) {
  const std::size_t rank = type.dims.size();
  const std::int64_t length = rank ? type.dims.back() : 1, stride = rank ? type.strides.back() : 0;
  const std::int64_t rows = length ? type.numel() / length : 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t at = 0, left = row;
    for (std::size_t d = rank ? rank - 1 : 0; d-- > 0; left /= type.dims[d])
      at += left % type.dims[d] * type.strides[d];
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t index = data[at + i * stride];
      if ((index < 0 || index >= count) && index != ignored_index) return index;
    }
  }
  return std::nullopt;
}

}  // namespace

Guards::Guards(const ir::Graph& graph, const std::vector<bool>& bound, TensorHost& host) : host_(host) {
  if (bound.size() != graph.inputs.size()) {
    throw InternalError("`bound` has " + std::to_string(bound.size()) + " entries for " +
                        std::to_string(graph.inputs.size()) + " inputs");
  }
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const ir::Value& value = graph.values.at(static_cast<std::size_t>(graph.inputs[i].value));
    types_.push_back(value.type);
    bytes_.push_back(static_cast<std::uintptr_t>(bytes_spanned(value.type)));
    names_.push_back(graph.inputs[i].target.empty() ? value.name : graph.inputs[i].target);
    updated_.push_back(std::any_of(graph.mutations.begin(), graph.mutations.end(), [&](const ir::Mutation& mutation) {
      return mutation.input == graph.inputs[i].value;
    }));
    (bound[i] ? bound_ : user_).push_back(static_cast<std::int32_t>(i));
    const bool counted = value.type.dtype == DType::i64 || value.type.dtype == DType::i32;
    if (counted && value.range_lo < value.range_hi && value.type.device.type == DeviceType::cpu) {
      indices_.push_back(static_cast<std::int32_t>(i));
      index_count_.push_back(value.range_hi);
    }
  }
  updates_ = !graph.mutations.empty();
}

Bound Guards::inspect(std::vector<Tensor> tensors) const {
  if (tensors.size() != bound_.size()) {
    throw UserError("bind() was given " + std::to_string(tensors.size()) + " tensors; pass the " +
                    std::to_string(bound_.size()) + " parameters and buffers of the graph, in its order");
  }
  if (!std::all_of(tensors.begin(), tensors.end(), [](const Tensor& tensor) { return static_cast<bool>(tensor); })) {
    throw UserError("bind() was given an undefined tensor; pass every parameter and buffer of the graph");
  }
  Bound bound{std::move(tensors), {}, false};
  if (!updates_) return bound;
  std::vector<Range> ranges;
  for (std::size_t b = 0; b < bound_.size(); ++b) {
    bound.data.push_back(host_.data(bound.tensors[b]));
    ranges.push_back(range(bound.tensors[b], bound_[b]));
  }
  bound.overlaps = any_overlap(std::move(ranges));
  return bound;
}

std::vector<const Tensor*> Guards::gather(const Bound& bound, std::span<const Tensor> inputs) const {
  if (inputs.size() != user_.size()) {
    throw UserError("the program was given " + std::to_string(inputs.size()) + " inputs; pass the " +
                    std::to_string(user_.size()) + " that are not bound");
  }
  if (bound.tensors.size() != bound_.size()) {
    throw UserError("the program's parameters and buffers are not there yet; call bind() before run()");
  }
  std::vector<const Tensor*> all(types_.size());
  for (std::size_t b = 0; b < bound_.size(); ++b) all[static_cast<std::size_t>(bound_[b])] = &bound.tensors[b];
  for (std::size_t u = 0; u < user_.size(); ++u) all[static_cast<std::size_t>(user_[u])] = &inputs[u];
  return all;
}

void Guards::check(std::span<const Tensor* const> inputs, const Bound& bound) const {
  check_types(inputs);
  check_indices(inputs);
  if (!updates_) return;
  const bool moved = bound_moved(bound);
  bool overlap = false;
  if (moved) {
    std::vector<Range> ranges;
    for (std::size_t i = 0; i < inputs.size(); ++i) ranges.push_back(range(*inputs[i], static_cast<std::int32_t>(i)));
    overlap = any_overlap(std::move(ranges));
  } else {
    overlap = bound.overlaps || user_overlap(inputs, bound);
  }
  if (overlap) throw GuardFailure{shared_memory};
}

void Guards::check_types(std::span<const Tensor* const> inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (*inputs[i] && host_.matches(*inputs[i], types_[i])) continue;
    const std::string got = *inputs[i] ? ir::print_type(host_.type(*inputs[i])) : "an undefined tensor";
    throw GuardFailure{"input " + names_[i] + " is " + got + ", the program was built for " +
                       ir::print_type(types_[i])};
  }
}

void Guards::check_indices(std::span<const Tensor* const> inputs) const {
  for (std::size_t k = 0; k < indices_.size(); ++k) {
    const auto i = static_cast<std::size_t>(indices_[k]);
    const void* data = host_.data(*inputs[i]);
    const std::optional<std::int64_t> stray =
        types_[i].dtype == DType::i64 ? stray_index(static_cast<const std::int64_t*>(data), types_[i], index_count_[k])
                                      : stray_index(static_cast<const std::int32_t*>(data), types_[i], index_count_[k]);
    if (stray)
      throw GuardFailure{"input " + names_[i] + " holds " + std::to_string(*stray) + ", which is none of " +
                         std::to_string(index_count_[k]) + " classes"};
  }
}

Guards::Range Guards::range(const Tensor& tensor, std::int32_t input) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(host_.data(tensor));
  return {begin, begin + bytes_[static_cast<std::size_t>(input)], input};
}

bool Guards::bound_moved(const Bound& bound) const {
  for (std::size_t b = 0; b < bound_.size(); ++b) {
    if (host_.data(bound.tensors[b]) != bound.data[b]) return true;
  }
  return false;
}

// Sweeps the ranges by where they begin, remembering how far any, and any updated one, reaches.
bool Guards::any_overlap(std::vector<Range> ranges) const {
  std::erase_if(ranges, [](const Range& range) { return range.begin == range.end; });
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::uintptr_t reached = 0, updated_reached = 0;
  for (const Range& range : ranges) {
    const bool updated = updated_[static_cast<std::size_t>(range.input)];
    if (range.begin < (updated ? reached : updated_reached)) return true;
    reached = std::max(reached, range.end);
    if (updated) updated_reached = std::max(updated_reached, range.end);
  }
  return false;
}

// The user's inputs are few: each against every other input, the bound ones already known to be apart.
bool Guards::user_overlap(std::span<const Tensor* const> inputs, const Bound& bound) const {
  const auto meet = [&](const Range& a, const Range& b) {
    const bool updated = updated_[static_cast<std::size_t>(a.input)] || updated_[static_cast<std::size_t>(b.input)];
    return updated && a.begin < b.end && b.begin < a.end;
  };
  for (std::size_t u = 0; u < user_.size(); ++u) {
    const Range mine = range(*inputs[static_cast<std::size_t>(user_[u])], user_[u]);
    for (std::size_t w = 0; w < u; ++w) {
      if (meet(mine, range(*inputs[static_cast<std::size_t>(user_[w])], user_[w]))) return true;
    }
    for (std::size_t b = 0; b < bound_.size(); ++b) {
      const auto begin = reinterpret_cast<std::uintptr_t>(bound.data[b]);
      if (meet(mine, {begin, begin + bytes_[static_cast<std::size_t>(bound_[b])], bound_[b]})) return true;
    }
  }
  return false;
}

}  // namespace cudaagent::runtime
