// Runs one program to its end, under a wall-clock limit, with its output collected.
#pragma once

#include <string>
#include <vector>

namespace cudaagent::jit {

struct Finished {
  bool started = false;    ///< false: the program could not be executed; `output` says why
  bool timed_out = false;  ///< killed, with everything it had started, at the limit
  int exit_code = -1;      ///< 128 + signal when a signal ended it; 0 too when the host reaps children itself
  std::string output;      ///< stdout and stderr together, cut at 256 KiB
};

/// `argv[0]` is looked up in PATH. The child gets exactly `environment`, a process group of its own (a Ctrl-C meant for
/// the caller does not reach it), and no input.
Finished run_process(const std::vector<std::string>& argv, const std::vector<std::string>& environment, double limit_s);

}  // namespace cudaagent::jit
