// The parent's hold on one `cudaagent-judge` process: spawn, ask, kill. A reply counts only with the nonce of its
// request, so a kernel that ends the process or writes to the channel cannot answer for the judge.
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/base.h"

namespace cudaagent::verify {

/// File descriptors the child finds open.
inline constexpr int channel_fd = 3;
inline constexpr int memory_fd = 4;

class Child {
 public:
  /// `memory`: the descriptor of the shared memory. `address_limit`: bytes of address space, 0 for no limit.
  /// Throws UserError when the executable cannot be started.
  Child(const std::string& executable, int memory, std::int64_t address_limit);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Sends one request and waits for its reply. Empty when it was done; otherwise what went wrong, in words, and the
  /// child is no longer usable.
  std::string ask(Json request, double limit_s);

 private:
  enum class Wait : std::uint8_t { line, ended, timed_out };
  bool send_line(const std::string& line);
  Wait receive_line(double limit_s, std::string& line);
  std::string last_words();
  void stop();

  int channel_ = -1;
  pid_t process_ = -1;
  std::string received_;
};

}  // namespace cudaagent::verify
