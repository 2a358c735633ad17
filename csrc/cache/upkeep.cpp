#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cache/entry_file.h"
#include "cache/layout.h"

namespace cudaagent::cache {
namespace {

/// Size and time of a file; the entry's key, or what is wrong with it.
EntryInfo inspect(const std::string& path, const std::string& root, Trust trust) {
  EntryInfo info;
  info.path = path;
  info.layer = root;
  struct stat status;
  if (lstat(path.c_str(), &status) == 0) {
    info.bytes = status.st_size;
    info.modified = status.st_mtime;
  }
  auto bytes = read_entry_file(path, trust, whole_file);
  if (auto* damage = std::get_if<Damage>(&bytes)) {
    info.damage = damage->reason;
    return info;
  }
  auto decoded = decode_entry(std::get<std::string>(bytes));
  if (auto* damage = std::get_if<Damage>(&decoded)) {
    info.damage = damage->reason;
    return info;
  }
  info.key = std::get<Entry>(decoded).key;
  if (entry_path(root, info.key) != path) info.damage = "its name does not match its key";
  return info;
}

std::vector<EntryInfo> inspect_all(const std::string& root, Trust trust) {
  std::vector<EntryInfo> entries;
  for (const std::string& path : entry_files(root)) entries.push_back(inspect(path, root, trust));
  return entries;
}

/// One clause per field that differs, one-sided fields included.
std::vector<std::string> differences(const Key& wanted, const Key& found) {
  std::vector<std::string> clauses;
  auto find = [](const Key& key, const std::string& name) -> const std::string* {
    for (const auto& field : key.fields) {
      if (field.first == name) return &field.second;
    }
    return nullptr;
  };
  for (const auto& [name, value] : wanted.fields) {
    const std::string* other = find(found, name);
    if (!other) clauses.push_back(name + " is '" + value + "', which the entry does not have");
    if (other && *other != value) clauses.push_back(name + " is '" + value + "', not '" + *other + "'");
  }
  for (const auto& [name, value] : found.fields) {
    if (!find(wanted, name)) clauses.push_back("the entry also has " + name + " '" + value + "'");
  }
  return clauses;
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

}  // namespace

std::vector<EntryInfo> Store::list() const {
  std::vector<EntryInfo> entries;
  if (!writable_.empty()) entries = inspect_all(writable_, Trust::private_);
  for (const std::string& layer : layers_) {
    for (EntryInfo& info : inspect_all(layer, Trust::anyone)) entries.push_back(std::move(info));
  }
  return entries;
}

std::vector<EntryInfo> Store::verify(bool remove) {
  std::vector<EntryInfo> entries;
  if (!writable_.empty()) entries = inspect_all(writable_, Trust::private_);
  for (const EntryInfo& info : entries) {
    if (remove && !info.damage.empty()) unlink(info.path.c_str());
  }
  return entries;
}

int Store::collect(std::int64_t max_bytes) {
  if (writable_.empty()) return 0;
  for (const std::string& path : abandoned_files(writable_)) unlink(path.c_str());

  struct File {
    std::string path;
    struct stat status;
  };
  std::vector<File> files;
  std::int64_t total = 0;
  for (const std::string& path : entry_files(writable_)) {
    File file{path, {}};
    if (lstat(path.c_str(), &file.status) != 0) continue;  // another process removed it
    total += file.status.st_size;
    files.push_back(std::move(file));
  }
  auto age = [](const File& f) { return std::pair(f.status.st_mtim.tv_sec, f.status.st_mtim.tv_nsec); };
  std::sort(files.begin(), files.end(), [&](const File& a, const File& b) { return age(a) < age(b); });
  int removed = 0;
  for (const File& file : files) {
    if (total <= max_bytes) break;
    total -= file.status.st_size;
    if (unlink(file.path.c_str()) == 0) ++removed;
  }
  return removed;
}

std::string Store::explain_miss(const Key& key) const {
  std::vector<std::string> roots = layers_;
  if (!writable_.empty()) roots.insert(roots.begin(), writable_);
  std::string nearest;
  std::vector<std::string> fewest;
  for (const std::string& root : roots) {
    Trust trust = root == writable_ ? Trust::private_ : Trust::anyone;
    if (EntryInfo own = inspect(entry_path(root, key), root, trust); own.bytes > 0 || own.modified > 0) {
      if (!own.damage.empty()) return "the entry " + own.path + " is not used: " + own.damage;
      if (key.kind != Kind::host_binary || root == writable_) return "the entry " + own.path + " is there";
      return "the entry " + own.path + " is not used: host code is loaded from the writable store only";
    }
    for (const std::string& path : entry_files(root + "/" + kind_name(key.kind))) {
      auto bytes = read_entry_file(path, trust, 64 * 1024);
      if (std::holds_alternative<Damage>(bytes)) continue;
      auto found = decode_key(std::get<std::string>(bytes));
      if (!std::holds_alternative<Key>(found)) continue;
      std::vector<std::string> clauses = differences(key, std::get<Key>(found));
      if (nearest.empty() || clauses.size() < fewest.size()) {
        nearest = path;
        fewest = std::move(clauses);
      }
    }
  }
  if (nearest.empty()) return "no " + kind_name(key.kind) + " is stored yet";
  return "the nearest " + kind_name(key.kind) + " is " + nearest + ": " + join(fewest);
}

}  // namespace cudaagent::cache
