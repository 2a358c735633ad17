// cudaagent-judge: runs kernels for a parent that judges them. It opens no torch, holds no secrets of the parent, and
// may be killed at any moment. Requests and replies are lines of JSON on descriptor 3; memory is descriptor 4.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "verify/child.h"
#include "verify/executor.h"

namespace cudaagent::verify {
namespace {

constexpr rlim_t most_cpu_seconds = 3600;
constexpr rlim_t longest_file = rlim_t{1} << 30;  // the loader's copy of a kernel

void limit(int resource, rlim_t value) {
  const rlimit limits{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &limits);
}

void confine(std::int64_t address_limit) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, most_cpu_seconds);
  limit(RLIMIT_FSIZE, longest_file);
#ifndef __SANITIZE_ADDRESS__  // which reserves terabytes
  if (address_limit > 0) limit(RLIMIT_AS, static_cast<rlim_t>(address_limit));
#endif
  // Whatever else the parent had open is not for kernels.
  syscall(SYS_close_range, memory_fd + 1, ~0u, 0);
}

bool read_line(std::string& line) {
  static std::string pending;
  while (true) {
    if (const std::size_t end = pending.find('\n'); end != std::string::npos) {
      line = pending.substr(0, end);
      pending.erase(0, end + 1);
      return true;
    }
    char buffer[65536];
    const ssize_t n = read(channel_fd, buffer, sizeof buffer);
    if (n <= 0) return false;
    pending.append(buffer, static_cast<std::size_t>(n));
  }
}

void reply(const Json& json) {
  const std::string line = json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
  if (write(channel_fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(1);
}

void serve(const Json& request, std::unique_ptr<Executor>& executor) {
  const std::string what = request.at("do").get<std::string>();
  if (what == "open") {
    executor = std::make_unique<Executor>(memory_fd, device_from_name(request.at("device").get<std::string>()));
  } else if (what == "load") {
    executor->load(request.at("steps"));
  } else if (what == "run") {
    executor->run(request.at("bytes").get<std::int64_t>(),
                  request.at("offsets").get<std::vector<std::vector<std::int64_t>>>());
  } else {
    throw InternalError("the judge does not know the request " + what);
  }
}

int main_loop() {
  std::unique_ptr<Executor> executor;
  for (std::string line; read_line(line);) {
    const Json request = Json::parse(line);
    Json answer{{"nonce", request.at("nonce")}};
    try {
      serve(request, executor);
    } catch (const std::exception& error) {
      answer["error"] = error.what();
    }
    reply(answer);
  }
  return 0;
}

}  // namespace
}  // namespace cudaagent::verify

#ifdef __SANITIZE_ADDRESS__
// A kernel's fault stays a signal, which the parent reports as such.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:detect_leaks=0";
}
#endif

int main(int argc, char** argv) {
  cudaagent::verify::confine(argc > 1 ? std::atoll(argv[1]) : 0);
  return cudaagent::verify::main_loop();
}
