// What every child process of ours starts with.
#pragma once

#include <spawn.h>

#include <string>
#include <vector>

namespace cudaagent {

/// Arguments of posix_spawn: a process group of its own, so that a Ctrl-C meant for the caller does not reach the child
/// and one kill ends all that it started; no blocked or ignored signals; no input. Callers add their own file actions.
class SpawnSetup {
 public:
  SpawnSetup();
  ~SpawnSetup();
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

/// Null-terminated, as argv and environ are; valid while `strings` is.
std::vector<char*> c_strings(const std::vector<std::string>& strings);

}  // namespace cudaagent
