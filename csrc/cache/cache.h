// Public header of the room `cache`: a content-addressed store of records and binaries.
//
// One entry, one file: magic, version, kind, lengths, the full key echoed, the payload, SHA-256 of all that. Written to
// a temporary in the same folder, fsynced, renamed. A file that does not check out is a miss, never an error. Nothing
// is unpickled. Layers: the user's writable store first, then read-only ones, the shipped kernels_cache/ last. Shared
// objects are loaded only from the writable store: an imported layer can bring cubins and records, no host code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/base.h"

namespace cudaagent::cache {

enum class Kind : std::uint8_t { record, binary, host_binary, graph };
std::string kind_name(Kind kind);

/// Declared fields, in order; equal keys have equal fields. No paths, device ordinals or environment in them.
struct Key {
  Kind kind = Kind::record;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string digest() const;
};

struct Entry {
  Key key;
  std::string payload;
};

struct EntryInfo {
  std::string path;
  std::string layer;
  Key key;
  std::int64_t bytes = 0;
  std::int64_t modified = 0;  ///< seconds since the epoch
  std::string damage;         ///< empty when the entry checks out
};

class Store {
 public:
  /// Folders need not exist yet; the writable one is made on the first put, with mode 0700.
  Store(std::string writable, std::vector<std::string> layers);

  std::optional<Entry> get(const Key& key) const;
  /// False, after one logged sentence, when the store cannot be written (read-only, full); the caller goes on.
  bool put(const Key& key, const std::string& payload);
  /// What the last failed put had to say; empty when none failed.
  const std::string& problem() const { return problem_; }
  /// The nearest entry of the same kind and which of its fields differ, for `cache explain`.
  std::string explain_miss(const Key& key) const;

  std::vector<EntryInfo> list() const;
  /// Checks every entry of the writable store; damaged ones are removed when `remove` is set.
  std::vector<EntryInfo> verify(bool remove);
  /// Removes least recently used entries of the writable store down to `max_bytes`; returns how many went.
  int collect(std::int64_t max_bytes);

 private:
  std::string writable_;
  std::vector<std::string> layers_;
  std::string problem_;
};

}  // namespace cudaagent::cache
