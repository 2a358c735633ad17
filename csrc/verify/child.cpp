#include "verify/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/files.h"
#include "base/spawn.h"

namespace cudaagent::verify {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t longest_line = 64 * 1024;

/// Where descriptors wait while the child's own numbers are given out: above both.
int duplicate_high(int fd) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 16);
  if (copy < 0) throw UserError("the verifier is out of file descriptors: raise `ulimit -n`");
  return copy;
}

/// What a kernel prints is nobody's business.
void redirect(SpawnSetup& setup, int channel, int memory) {
  posix_spawn_file_actions_addopen(&setup.actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&setup.actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&setup.actions, channel, channel_fd);
  posix_spawn_file_actions_adddup2(&setup.actions, memory, memory_fd);
}

std::string fresh_nonce() {
  static thread_local std::random_device device;
  return std::to_string(device()) + "-" + std::to_string(device());
}

}  // namespace

Child::Child(const std::string& executable, int memory, std::int64_t address_limit) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw UserError("the verifier is out of file descriptors: raise `ulimit -n`");
  }
  channel_ = ends[0];
  const Fd far(ends[1]);
  const Fd far_high(duplicate_high(far.get())), memory_high(duplicate_high(memory));
  SpawnSetup setup;
  redirect(setup, far_high.get(), memory_high.get());
  const std::vector<std::string> argv = {executable, std::to_string(address_limit)}, environment = child_environment();
  const int error = posix_spawn(&process_, executable.c_str(), &setup.actions, &setup.attributes,
                                c_strings(argv).data(), c_strings(environment).data());
  if (error != 0) {
    close(channel_);
    throw UserError("the verifier's program '" + executable + "' does not start (" + strerror(error) +
                    "): reinstall the package, or set judge_path to it");
  }
}

Child::~Child() { stop(); }

void Child::stop() {
  if (process_ > 0) {
    kill(-process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
  }
  if (channel_ >= 0) close(channel_);
  channel_ = -1;
}

std::string Child::ask(Json request, double limit_s) {
  const std::string nonce = fresh_nonce();
  request["nonce"] = nonce;
  std::string line;
  const Wait outcome = send_line(request.dump() + "\n") ? receive_line(limit_s, line) : Wait::ended;
  if (outcome == Wait::ended) return last_words();
  if (outcome == Wait::timed_out) {
    stop();
    Json limit = limit_s;
    return "did not finish within " + limit.dump() + " s";
  }
  const Json reply = Json::parse(line, nullptr, false);
  if (!reply.is_object() || !reply.contains("nonce") || reply.at("nonce") != nonce) {
    stop();
    return "something other than the judge answered on its channel";
  }
  if (!reply.contains("error")) return "";
  const std::string error = reply.at("error").is_string() ? reply.at("error").get<std::string>() : "unknown error";
  stop();
  return error;
}

bool Child::send_line(const std::string& line) {
  std::size_t sent = 0;
  while (channel_ >= 0 && sent < line.size()) {
    const ssize_t n = send(channel_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return channel_ >= 0;
}

Child::Wait Child::receive_line(double limit_s, std::string& line) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s));
  while (true) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return Wait::line;
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{channel_, POLLIN, 0};
    const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(std::min<long long>(left, 1 << 30))) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Wait::timed_out;
    char buffer[4096];
    const ssize_t n = recv(channel_, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || received_.size() > longest_line) return Wait::ended;
    received_.append(buffer, static_cast<std::size_t>(n));
  }
}

/// How the child that closed its channel came to its end.
std::string Child::last_words() {
  int status = 0;
  bool known = false;
  // It may have closed the channel and live on.
  for (int attempt = 0; attempt < 100 && process_ > 0 && !known; ++attempt) {
    known = waitpid(process_, &status, WNOHANG) == process_;
    if (!known) poll(nullptr, 0, 5);
  }
  if (known) {
    kill(-process_, SIGKILL);
    process_ = -1;
  }
  stop();
  if (!known) return "ended the judge's process or its channel";
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return "crashed with signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "ended the judge's process with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace cudaagent::verify
