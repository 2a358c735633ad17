// Where the memory of each value of a plan is, and how long it is needed. Worked out once per program.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

namespace cudaagent::runtime {

enum class Home : std::uint8_t {
  none,      ///< never materialised: lives in registers inside one kernel
  input,     ///< a graph input
  arena,     ///< written by a kernel, dies with the call
  owned,     ///< written by a kernel, reaches the caller: a tensor of its own
  external,  ///< made by an extern operator
};

/// A value is `offset` bytes past the first element of `root`, which has memory of its own.
struct Place {
  Home home = Home::none;
  ir::ValueId root = ir::no_value;
  std::int64_t offset = 0;
};

struct Places {
  std::vector<Place> of;  ///< by ValueId
  /// By ValueId of a root: first and last region that touches it or a view of it. -1 for inputs' first;
  /// the number of regions for what is read after the last one (outputs, mutations).
  std::vector<int> first, last;

  const Place& operator[](ir::ValueId value) const { return of.at(static_cast<std::size_t>(value)); }
};

/// Throws InternalError when a region reads what none before it made.
Places find_places(const schedule::Plan& plan);

/// Bytes from a value's first element to one past its last.
std::int64_t bytes_spanned(const TensorType& type);

}  // namespace cudaagent::runtime
