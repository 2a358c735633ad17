#include "base/log.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "base/error.h"

namespace cudaagent {

namespace {

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::off:
      return "off";
    case LogLevel::error:
      return "error";
    case LogLevel::info:
      return "info";
    case LogLevel::debug:
      return "debug";
  }
  throw InternalError("log: not a level");
}

LogLevel level_from_environment() {
  const char* text = std::getenv("TORCH_CUDAAGENT_LOG");
  const std::string value = text ? text : "";
  for (const LogLevel level : {LogLevel::off, LogLevel::error, LogLevel::info, LogLevel::debug}) {
    if (value == level_name(level)) return level;
  }
  return LogLevel::error;
}

struct Sink {
  std::mutex mutex;
  std::function<void(LogLevel, const std::string&)> function;
};

// Never destroyed: a thread may log while the process winds down.
Sink& sink() {
  static Sink* const instance = new Sink;
  return *instance;
}

}  // namespace

void set_log_sink(std::function<void(LogLevel, const std::string&)> function) {
  const std::lock_guard lock(sink().mutex);
  sink().function = std::move(function);
}

LogLevel log_level() {
  static const LogLevel level = level_from_environment();
  return level;
}

void log(LogLevel level, const std::string& message) {
  if (level == LogLevel::off || level > log_level()) return;
  std::function<void(LogLevel, const std::string&)> function;
  {
    const std::lock_guard lock(sink().mutex);
    function = sink().function;
  }
  if (function) {
    function(level, message);
  } else {
    std::fprintf(stderr, "cudaagent %s: %s\n", level_name(level), message.c_str());
  }
}

}  // namespace cudaagent
