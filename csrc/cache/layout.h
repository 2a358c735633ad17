// Where entries lie below a store's folder: <kind>/<first two digits>/<digest>.cagt
#pragma once

#include <string>
#include <vector>

#include "cache/cache.h"

namespace cudaagent::cache {

std::string entry_path(const std::string& root, const Key& key);
/// Every entry's file below `root`, sorted; empty when there is no such folder.
std::vector<std::string> entry_files(const std::string& root);
/// Files a writer left unfinished more than an hour ago.
std::vector<std::string> abandoned_files(const std::string& root);

}  // namespace cudaagent::cache
