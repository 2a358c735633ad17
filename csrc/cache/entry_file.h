// The bytes of one entry, and reading and writing them safely.
//
//   "CAGT"  u32 version  u32 kind  u32 key bytes  u64 payload bytes  key  payload  sha256 of all before, 64 hex digits
//   key: u32 fields, then for each: u32 bytes, name, u32 bytes, value.    Integers are little-endian.
#pragma once

#include <cstddef>
#include <string>
#include <variant>

#include "cache/cache.h"

namespace cudaagent::cache {

/// What is wrong with a file; never empty.
struct Damage {
  std::string reason;
};

std::string encode_fields(const Key& key);

std::string encode_entry(const Key& key, const std::string& payload);
std::variant<Entry, Damage> decode_entry(const std::string& bytes);
/// The key alone, unproved by the checksum; enough to look around in a store.
std::variant<Key, Damage> decode_key(const std::string& bytes);

/// Whom a file must come from to be read.
enum class Trust {
  anyone,   ///< a layer: data only
  private_  ///< ours alone: no symbolic link, owned by this user, written by nobody else
};
/// At most `limit` bytes from the start; Damage when the file is missing, not a plain file, or not to be trusted.
std::variant<std::string, Damage> read_entry_file(const std::string& path, Trust trust, std::size_t limit);
inline constexpr std::size_t whole_file = std::size_t{1} << 30;

/// Writes beside `path`, syncs, renames. The reason when that fails; empty when done.
std::string replace_file(const std::string& path, const std::string& bytes);
/// Names of unfinished files start so.
inline constexpr const char* temporary_prefix = ".writing-";

}  // namespace cudaagent::cache
