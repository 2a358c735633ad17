// Names of kernels as a profiler shows them.
#pragma once

#include <string>

#include "schedule/schedule.h"

namespace cudaagent::schedule {

/// "ca_" + walk + what it computes + first digits of its fingerprint: a C identifier of at most 60 characters.
std::string kernel_name(const Body& body, const std::string& fingerprint);

}  // namespace cudaagent::schedule
