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

cache::Key graph_key(const c10::List<std::string>& fields) {
  if (fields.size() % 2 != 0) throw UserError("the fields of a key are pairs; pass a value with every name");
  cache::Key key;
  key.kind = cache::Kind::graph;
  for (std::size_t i = 0; i < fields.size(); i += 2) key.fields.emplace_back(fields.get(i), fields.get(i + 1));
  return key;
}

}  // namespace

std::string cache_get(std::string dir, c10::List<std::string> fields) {
  return translate_errors([&] {
    const auto entry = cache::Store(dir, {}).get(graph_key(fields));
    return entry ? entry->payload : std::string();
  });
}

bool cache_put(std::string dir, c10::List<std::string> fields, std::string payload) {
  return translate_errors([&] { return cache::Store(dir, {}).put(graph_key(fields), payload); });
}

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
