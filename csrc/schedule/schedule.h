// Public header of the room `schedule`: from a graph to regions, and from a region to a loop body.
//
// A region is a set of nodes that run as one unit: one extern call, one view, or one generated kernel.
// The loop body of a generated region has one flat iteration space. Views are gone: every access is affine in the axes.
// Axes come from the tensors' dims, split ("refined") until each reshape of the region falls on axis borders; where
// that fails the nodes do not share a region.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "ir/prims.h"

namespace cudaagent::schedule {

/// One loop of the iteration space. Either every reduction of the body runs over this axis, or none does.
struct Axis {
  std::int64_t extent = 1;
  bool reduced = false;
  bool operator==(const Axis&) const = default;
};

/// element address = offset + sum over axes of strides[a] * index[a], in elements of `buffer`.
struct Access {
  std::int32_t buffer = -1;
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;  ///< one per axis; 0 where the value does not vary
  bool operator==(const Access&) const = default;
};

/// Memory the body reads or writes. An output's buffer is never read.
struct Buffer {
  ir::ValueId value = ir::no_value;  ///< in the rewritten graph; left out of the body's fingerprint
  DType dtype = DType::f32;
  std::int64_t span = 0;  ///< elements addressed from the first
  bool output = false;
};

enum class InstKind : std::uint8_t { load, constant, index, map, reduce, store };

/// One instruction in static single assignment order; operands are indices of earlier instructions.
///   load      access                       -> the element, in the buffer's dtype
///   constant  constant                     -> of `dtype`
///   index     axes strides in `access.strides`, `access.offset`: offset + sum strides*index, as i64 (iota)
///   map       fn ("add", "convert", ...)   -> `dtype`
///   reduce    reduce kind over all reduced axes, of an element-level operand (a row value passes through a "convert"
///             to its own dtype at element level); argmax and argmin count in row-major order of the reduced axes
///   store     operand 0 to access; has no result
struct Inst {
  InstKind kind = InstKind::map;
  std::string fn;
  ir::ReduceKind reduce = ir::ReduceKind::sum;
  DType dtype = DType::f32;
  std::vector<std::int32_t> operands;
  Access access;
  Arg constant;
  /// Number of reductions on the longest path before this instruction: a stage can start when all
  /// reductions of earlier stages are complete. A reduce belongs to the stage that computes it.
  std::int32_t stage = 0;
  /// True when the value varies along a reduced axis ("element level"), false when one value serves a whole row.
  bool element = false;
};

struct Body {
  std::vector<Axis> axes;  ///< kept axes first, then reduced; each group in the order of the outputs' (inputs') memory
  std::vector<Buffer> buffers;
  std::vector<Inst> insts;
  std::int32_t stages = 1;  ///< highest stage + 1

  std::int64_t kept() const;     ///< product of the extents of kept axes: the rows
  std::int64_t reduced() const;  ///< product of the extents of reduced axes: a row's length; 1 without reductions
  bool has_reduction() const;
};

/// SHA-256 over everything that decides the code: axes, dtypes, spans, accesses, instructions.
std::string fingerprint(const Body& body);
void to_json(Json& json, const Body& body);
void from_json(const Json& json, Body& body);
/// Bytes every input and output of the body is moved once: the roofline's numerator.
std::int64_t bytes_moved(const Body& body);

enum class RegionKind : std::uint8_t { external, view, generated };

struct Region {
  RegionKind kind = RegionKind::external;
  /// Of the rewritten graph, ascending. Views and generators a body holds are among them, of several regions perhaps.
  std::vector<std::int32_t> nodes;
  std::vector<ir::ValueId> inputs;   ///< materialised values it reads, in the order of Body::buffers
  std::vector<ir::ValueId> outputs;  ///< values it materialises, likewise
  Body body;                         ///< of a generated region
  std::string fingerprint;           ///< of `body`; computed once, since hashing it costs more than most lookups
  /// Of a view: the materialised value it looks into, and where (elements past its first).
  ir::ValueId view_of = ir::no_value;
  std::int64_t view_offset = 0;
  std::string why;   ///< of an external region: why no template carries it
  std::string name;  ///< stable kernel name, e.g. "ca_rows_softmax_1f3a9c02"
};

struct Plan {
  ir::Graph graph;              ///< the rewritten graph; values got their materialised strides here
  std::vector<Region> regions;  ///< in an order that runs
};

/// What the scheduler must know of the machine.
struct Machine {
  DeviceType device = DeviceType::cpu;
  int units = 1;                          ///< SMs, or threads of the host
  std::int64_t persistent_row_bytes = 0;  ///< longest row one block (or core) keeps close
};

Plan schedule(ir::Graph graph, const Machine& machine, const Options& options);

/// Only for tests and fuzzing: the body of these nodes as one region, or why there is none.
Outcome<Body> build_body(const ir::Graph& graph, const std::vector<std::int32_t>& nodes,
                         const std::vector<ir::ValueId>& outputs);

}  // namespace cudaagent::schedule
