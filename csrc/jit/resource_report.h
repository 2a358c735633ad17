// Reads what ptxas says under -v.
#pragma once

#include <string>
#include <vector>

#include "jit/jit.h"

namespace cudaagent::jit {

/// One entry per entry function, in the log's order.
std::vector<Resources> parse_resource_report(const std::string& log);
/// The log less ptxas's figures and timings: warnings only, the same from run to run.
std::string without_resource_report(const std::string& log);

}  // namespace cudaagent::jit
