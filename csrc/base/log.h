// The log sink: one line per event on stderr at the level of TORCH_CUDAAGENT_LOG (off, error, info, debug), or to a
// function set by the host.
#pragma once

#include <functional>
#include <string>

namespace cudaagent {

enum class LogLevel { off, error, info, debug };

void set_log_sink(std::function<void(LogLevel, const std::string&)> sink);
LogLevel log_level();
void log(LogLevel level, const std::string& message);

}  // namespace cudaagent
