// Bodies with reductions on the host. Two ways to fill the lanes:
//   rows      lanes run along a reduced axis; a task is one row; results of reductions are scalars
//   columns   lanes run along a kept axis; a task is a tile of columns; results are vectors, one per column block
// Either way every stage is a pass over the task's elements. With `chunks` above 1 the reduced space is cut as well:
// one launch per stage, whose tasks leave partial accumulators in scratch for every later launch to join.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/analysis.h"
#include "codegen/host_writer.h"

namespace cudaagent::codegen {

struct HostReduction {
  schedule::Body body;  ///< collapsed
  bool columns = false;
  std::size_t vector_axis = 0;
  int lanes = 1;
  std::int64_t tile = 1;    ///< columns of a task
  std::int64_t chunks = 1;  ///< tasks that share a row
  std::size_t chunk_axis = 0;
  std::int64_t chunk_length = 1;

  std::vector<std::size_t> outer_kept() const;     ///< kept axes a task does not span
  std::vector<std::size_t> reduced_loops() const;  ///< reduced axes looped over one element at a time, outermost first
  std::int64_t vectors() const { return (tile + lanes - 1) / lanes; }
  std::int64_t tiles() const;
  std::int64_t tasks() const;  ///< without chunks
};

/// Fills in what follows from the choice of lanes, tile and number of chunks; a Rejection when they do not fit.
Outcome<HostReduction> plan_reduction(const schedule::Body& body, bool columns, std::int64_t lanes, std::int64_t tile,
                                      std::int64_t chunks);
/// The axis lanes would run along; argmax and argmin need ascending indices, so with them it is the last reduced one.
std::optional<std::size_t> reduction_vector_axis(const schedule::Body& body, bool columns);
/// True when lanes along a kept axis move more bytes contiguously than lanes along a reduced one.
bool prefers_columns(const schedule::Body& body);

Source generate_reduction(const HostReduction& plan, const std::string& name);

/// Columns of a task: enough for long contiguous reads, few enough for a slab of every stage to stay in L2 and for
/// every thread to have a task.
std::int64_t column_tile(const schedule::Body& body, std::size_t axis, std::int64_t lanes, int units);

}  // namespace cudaagent::codegen
