#include "jit/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/spawn.h"

namespace cudaagent::jit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t output_limit = 256 * 1024;

int remaining_ms(Clock::time_point deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left > 0 ? static_cast<int>(std::min<long long>(left, 1 << 30)) : 0;
}

/// Reads until every writer has closed; false at the deadline.
bool collect(int fd, Clock::time_point deadline, std::string& output) {
  char buffer[8192];
  while (true) {
    pollfd waiting{fd, POLLIN, 0};
    int ready = poll(&waiting, 1, remaining_ms(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    output.append(buffer, std::min<std::size_t>(static_cast<std::size_t>(got), output_limit - output.size()));
  }
}

/// Waits for the child's own end; false at the deadline.
bool reap(pid_t child, Clock::time_point deadline, int& exit_code) {
  for (int wait_us = 200;; wait_us = std::min(2 * wait_us, 20000)) {
    int status = 0;
    pid_t got = waitpid(child, &status, WNOHANG);
    if (got == child) {
      exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      return true;
    }
    if (got < 0 && errno == ECHILD) {  // SIGCHLD is ignored in this process: the status is lost
      exit_code = 0;
      return true;
    }
    if (remaining_ms(deadline) == 0) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
  }
}

}  // namespace

Finished run_process(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                     double limit_s) {
  auto deadline = Clock::now() + std::chrono::milliseconds(static_cast<long long>(limit_s * 1e3));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw UserError("cannot start " + argv[0] + ": " + strerror(errno) + "; close files or raise `ulimit -n`");
  }
  Fd reader(ends[0]), writer(ends[1]);

  Finished finished;
  pid_t child = -1;
  {
    SpawnSetup setup;
    for (int output : {1, 2}) posix_spawn_file_actions_adddup2(&setup.actions, writer.get(), output);
    int error = posix_spawnp(&child, argv[0].c_str(), &setup.actions, &setup.attributes, c_strings(argv).data(),
                             c_strings(environment).data());
    if (error != 0) {
      finished.output = strerror(error);
      return finished;
    }
  }
  finished.started = true;
  writer.close();
  if (!collect(reader.get(), deadline, finished.output) || !reap(child, deadline, finished.exit_code)) {
    finished.timed_out = true;
    kill(-child, SIGKILL);
    reap(child, Clock::now() + std::chrono::seconds(5), finished.exit_code);
  }
  return finished;
}

}  // namespace cudaagent::jit
