// Integer, bool and index outputs.
#pragma once

#include <string>

#include "verify/yardstick.h"

namespace cudaagent::verify {

/// Empty when `kernel` is right. An element is right when it equals eager's or truth's (a comparison of nearly equal
/// floats can fall either way), and an index also when it points at an equal value. Elements that are neither may
/// number at most twice those in which eager itself departs from truth.
std::string integer_difference(const Elements& kernel, const Answer& answer, const Yardstick& yardstick);

}  // namespace cudaagent::verify
