// Where every value of a would-be region lies in one iteration space, or why there is no such space.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedule/axis_space.h"
#include "schedule/dataflow.h"

namespace cudaagent::schedule {

/// How the elements of an operand are had.
struct Origin {
  enum class Kind : std::uint8_t { computed, memory, generator, constant } kind = Kind::constant;
  ir::ValueId value = ir::no_value;  ///< computed in the region, read from memory, or made by this generator
  std::int64_t offset = 0;
  std::vector<std::pair<AxisId, std::int64_t>> strides;  ///< of memory, or of the generator's index
  Arg constant;
};

struct Operand {
  std::vector<AxisList> dims;
  Origin origin;
};

/// The analysis of one set of compute nodes.
class Placement {
 public:
  /// `nodes` ascending, compute nodes only; none of them empty (Dataflow::is_empty).
  static Outcome<Placement> make(const Dataflow& flow, const std::vector<std::int32_t>& nodes,
                                 const std::vector<ir::ValueId>& outputs);

  const AxisSpace& space() const { return space_; }
  /// The operands of each node, parallel to the node list.
  const std::vector<std::vector<Operand>>& operands() const { return operands_; }
  /// Axes of each dim of a value the region computes.
  const std::vector<AxisList>& dims(ir::ValueId value) const { return dims_.at(value); }
  /// The axes every reduction runs over, and the others.
  const AxisList& kept() const { return kept_; }
  const AxisList& reduced() const { return reduced_; }
  /// Axes the reduce node runs over, row-major in its operand's dims; empty when all their extents are 1.
  AxisList reduce_axes(std::int32_t node) const { return space_.leaves(reduce_lists_.at(node)); }
  /// True for a reshape whose two groupings do not nest: dims() is one list, its elements in row-major order.
  bool is_flat(ir::ValueId value) const { return flat_.count(value) > 0; }
  /// Views and generators that were read through.
  const std::set<std::int32_t>& inlined() const { return inlined_; }
  bool has_reduction() const { return !reduced_.empty(); }

 private:
  Placement(const Dataflow& flow, const std::vector<std::int32_t>& nodes, bool share)
      : flow_(&flow), nodes_(nodes), share_(share) {}

  std::string place_all(const std::vector<ir::ValueId>& outputs);
  std::string place_node(std::int32_t n);
  std::string place_map(std::int32_t n, const std::vector<Operand>& operands);
  void place_reduce(std::int32_t n, const Operand& operand);
  std::string place_view(std::int32_t n);

  void note_inlined(ir::ValueId value);
  bool resolve(ir::ValueId value, Operand& operand);
  bool step(const ir::Node& view, Operand& operand);
  Operand fresh(const Place& place);
  Operand& shared_root(ir::ValueId value, const Place& place);
  bool in_region(ir::ValueId value) const;

  std::string match_reductions();
  std::string match_epilogues();
  std::string check(const std::vector<ir::ValueId>& outputs);
  std::string check_recompute() const;
  AxisList value_axes(const std::vector<AxisList>& dims) const;

  const Dataflow* flow_;
  std::vector<std::int32_t> nodes_;
  /// True: reads of the same memory share their axes, so a row read twice is one row. False: each read has its own, so
  /// a matrix can meet its transpose.
  bool share_;
  AxisSpace space_;
  std::vector<std::vector<Operand>> operands_;
  std::map<ir::ValueId, std::vector<AxisList>> dims_;
  std::map<ir::ValueId, Operand> roots_;
  std::map<std::int32_t, AxisList> reduce_lists_, reduce_operands_;
  std::set<ir::ValueId> flat_;
  AxisList kept_, reduced_;
  std::set<std::int32_t> inlined_;
};

}  // namespace cudaagent::schedule
