// A graph node as the host calls it: which values it reads, and its arguments with positions for references.
#pragma once

#include <vector>

#include "ir/ir.h"

namespace cudaagent::runtime {

struct Call {
  std::vector<ir::ValueId> operands;  ///< each value once, in order of appearance
  std::vector<NamedArg> args;
};
Call make_call(const ir::Node& node);

}  // namespace cudaagent::runtime
