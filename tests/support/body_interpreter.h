// Runs a loop body in plain nested loops over doubles: the oracle of code generation.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace cudaagent::testing {

/// `buffers[b]` holds the elements of body.buffers[b], outputs too. Throws InternalError where the body breaks a
/// promise of schedule.h: an access outside its buffer, an output read, an element stored twice, an operand from a
/// later stage.
void interpret_body(const schedule::Body& body, std::vector<std::vector<double>>& buffers);

}  // namespace cudaagent::testing
