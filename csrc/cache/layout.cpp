#include "cache/layout.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "cache/entry_file.h"

namespace cudaagent::cache {
namespace {

namespace fs = std::filesystem;

constexpr const char* extension = ".cagt";

/// Calls visit(entry) for every plain file or link below `root`. Folders that vanish or cannot be read are passed over.
template <class Visit>
void walk(const std::string& root, const Visit& visit) {
  std::error_code error;
  fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_directory(ignored)) visit(*it);
  }
}

}  // namespace

std::string entry_path(const std::string& root, const Key& key) {
  std::string digest = key.digest();
  return root + "/" + kind_name(key.kind) + "/" + digest.substr(0, 2) + "/" + digest + extension;
}

std::vector<std::string> entry_files(const std::string& root) {
  std::vector<std::string> files;
  walk(root, [&](const fs::directory_entry& entry) {
    if (entry.path().extension() == extension) files.push_back(entry.path().string());
  });
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> abandoned_files(const std::string& root) {
  std::vector<std::string> files;
  auto before = fs::file_time_type::clock::now() - std::chrono::hours(1);
  walk(root, [&](const fs::directory_entry& entry) {
    std::error_code error;
    bool temporary = entry.path().filename().string().rfind(temporary_prefix, 0) == 0;
    if (temporary && entry.last_write_time(error) < before && !error) files.push_back(entry.path().string());
  });
  return files;
}

}  // namespace cudaagent::cache
