#include <fcntl.h>
#include <sys/stat.h>

#include <mutex>
#include <set>

#include "cache/entry_file.h"
#include "cache/layout.h"

namespace cudaagent::cache {
namespace {

std::string complaint(const std::string& folder, const std::string& reason) {
  return "the cache folder " + (folder.empty() ? "(none set)" : folder) + " cannot be written (" + reason +
         "), so kernels are compiled anew in every process; free some space or set TORCH_CUDAAGENT_CACHE_DIR to "
         "another folder";
}

/// Says once per process and folder that nothing can be kept there; every later put fails in silence.
void complain(const std::string& folder, const std::string& sentence) {
  static std::mutex mutex;
  static std::set<std::string> said;
  std::lock_guard lock(mutex);
  if (said.insert(folder).second) log(LogLevel::error, sentence);
}

/// Marks the entry as used. Set by hand since atime does not move under relatime and noatime.
void touch(const std::string& path) { utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW); }

std::optional<Entry> read_matching(const std::string& path, Trust trust, const Key& key) {
  auto bytes = read_entry_file(path, trust, whole_file);
  if (std::holds_alternative<Damage>(bytes)) return std::nullopt;
  auto decoded = decode_entry(std::get<std::string>(bytes));
  auto* entry = std::get_if<Entry>(&decoded);
  if (!entry || entry->key.kind != key.kind || entry->key.fields != key.fields) return std::nullopt;
  return std::move(*entry);
}

}  // namespace

Store::Store(std::string writable, std::vector<std::string> layers)
    : writable_(std::move(writable)), layers_(std::move(layers)) {}

std::optional<Entry> Store::get(const Key& key) const {
  if (!writable_.empty()) {
    std::string path = entry_path(writable_, key);
    if (auto entry = read_matching(path, Trust::private_, key)) {
      touch(path);
      return entry;
    }
  }
  // Code that would run in this process is never taken from a layer someone else made.
  if (key.kind == Kind::host_binary) return std::nullopt;
  for (const std::string& layer : layers_) {
    if (auto entry = read_matching(entry_path(layer, key), Trust::anyone, key)) return entry;
  }
  return std::nullopt;
}

bool Store::put(const Key& key, const std::string& payload) {
  std::string reason = "no folder is set";
  if (!writable_.empty()) reason = replace_file(entry_path(writable_, key), encode_entry(key, payload));
  if (reason.empty()) return true;
  problem_ = complaint(writable_, reason);
  complain(writable_, problem_);
  return false;
}

}  // namespace cudaagent::cache
