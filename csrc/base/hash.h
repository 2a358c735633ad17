// SHA-256 (FIPS 180-4). Own code because no header of a hash library is to be had from the package registry that
// `pip install` alone can reach; checked against the standard's vectors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cudaagent {

/// 64 lowercase hexadecimal digits.
std::string sha256(std::string_view bytes);
/// The first 16 digits of sha256: enough to name a kernel or a region.
std::string short_hash(std::string_view bytes);

}  // namespace cudaagent
