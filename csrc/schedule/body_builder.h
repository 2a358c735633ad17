// From placed nodes to the instructions of a loop body.
#pragma once

#include <vector>

#include "schedule/dataflow.h"
#include "schedule/placement.h"

namespace cudaagent::schedule {

struct BuiltBody {
  Body body;
  /// Views and generators the body holds besides its compute nodes, ascending.
  std::vector<std::int32_t> inlined;
};

/// The body of `nodes` (compute nodes, ascending), storing `outputs`; or why they do not share one iteration space.
Outcome<BuiltBody> build(const Dataflow& flow, const std::vector<std::int32_t>& nodes,
                         const std::vector<ir::ValueId>& outputs);

/// The body of a node that Dataflow::is_empty.
Body empty_body(const Dataflow& flow, std::int32_t n);
ir::ReduceKind reduce_kind(const ir::Node& reduce);

/// Puts the axes in the order of the main output's (else input's) memory, kept ones first. `reduced_order` holds axes
/// of the body that must stay in that order among each other; empty: free.
void order_axes(Body& body, const std::vector<std::int32_t>& reduced_order);
/// Merges neighbouring axes that every access steps through as one.
void collapse_axes(Body& body);

}  // namespace cudaagent::schedule
