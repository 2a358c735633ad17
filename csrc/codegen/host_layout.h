// How a body lies in the host's registers: the axis its lanes run along, and how many lanes there are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/analysis.h"

namespace cudaagent::codegen {

/// The axis along which most bytes move at unit stride, among all axes or only the kept or the reduced ones; the last
/// of equals. None when no axis is longer than one element.
enum class AxisGroup : std::uint8_t { any, kept, reduced };
std::optional<std::size_t> vector_axis(const schedule::Body& body, AxisGroup group);

/// Bytes moved at unit stride along `axis`, over the bytes of all accesses that vary along it; 0 when none does.
double unit_stride_share(const schedule::Body& body, std::size_t axis);

/// Lanes for a vector of that many elements: a power of two no longer than the axis, and small enough that the widest
/// common element fills one AVX-512 register.
int lanes_for(const schedule::Body& body, std::int64_t extent);

/// The parameters of a template with one of them set to each of `values` in turn.
std::vector<std::map<std::string, std::int64_t>> with_each(const std::map<std::string, std::int64_t>& start,
                                                           const std::string& name,
                                                           const std::vector<std::int64_t>& values);

}  // namespace cudaagent::codegen
