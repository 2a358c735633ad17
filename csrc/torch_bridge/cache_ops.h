// The cache as thin calls: its upkeep for the command line, captured graphs for Python.
#pragma once

#include <ATen/core/List.h>

#include <cstdint>
#include <string>

namespace cudaagent::bridge {

/// A JSON array of entries: path, layer, kind, digest, fields, bytes, modified, damage.
std::string cache_list(std::string dir, c10::List<std::string> layers);
/// The same for the writable store alone, each checked; damaged ones are removed when `remove` is set.
std::string cache_verify(std::string dir, c10::List<std::string> layers, bool remove);
/// A captured graph's document, empty on a miss; `fields` are names and values of the key, one after the other.
std::string cache_get(std::string dir, c10::List<std::string> fields);
bool cache_put(std::string dir, c10::List<std::string> fields, std::string payload);
std::int64_t cache_gc(std::string dir, c10::List<std::string> layers, std::int64_t max_bytes);

}  // namespace cudaagent::bridge
