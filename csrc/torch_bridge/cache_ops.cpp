#include "torch_bridge/cache_ops.h"

#include "cache/cache.h"
#include "torch_bridge/errors.h"

namespace cudaagent::bridge {

namespace {

cache::Store open_store(const std::string& dir, const c10::List<std::string>& layers) {
  std::vector<std::string> below;
  for (const auto& layer : layers) below.push_back(layer);
  return cache::Store(dir, std::move(below));
}

const char* kind_name(cache::Kind kind) {
  switch (kind) {
    case cache::Kind::record:
      return "record";
    case cache::Kind::binary:
      return "binary";
    case cache::Kind::host_binary:
      return "host_binary";
    case cache::Kind::graph:
      return "graph";
  }
  throw InternalError("a cache entry of no kind");
}

std::string listing(const std::vector<cache::EntryInfo>& entries) {
  Json json = Json::array();
  for (const cache::EntryInfo& entry : entries) {
    Json fields = Json::array();
    for (const auto& [name, value] : entry.key.fields) fields.push_back({name, value});
    json.push_back({{"path", entry.path},
                    {"layer", entry.layer},
                    {"kind", kind_name(entry.key.kind)},
                    {"digest", entry.key.digest()},
                    {"fields", fields},
                    {"bytes", entry.bytes},
                    {"modified", entry.modified},
                    {"damage", entry.damage}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string cache_list(std::string dir, c10::List<std::string> layers) {
  return translate_errors([&] { return listing(open_store(dir, layers).list()); });
}

std::string cache_verify(std::string dir, c10::List<std::string> layers, bool remove) {
  return translate_errors([&] { return listing(open_store(dir, layers).verify(remove)); });
}

std::int64_t cache_gc(std::string dir, c10::List<std::string> layers, std::int64_t max_bytes) {
  return translate_errors([&]() -> std::int64_t { return open_store(dir, layers).collect(max_bytes); });
}

}  // namespace cudaagent::bridge
