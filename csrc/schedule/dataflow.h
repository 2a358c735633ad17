// What each node is to the scheduler, and who reads whose memory once views and generators are looked through.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/strided_view.h"

namespace cudaagent::schedule {

enum class Role : std::uint8_t {
  external,  ///< an aten:: node
  compute,   ///< makes its value in a generated region: maps, reductions, views and generators that need memory
  view,      ///< its result is needed as a tensor and is strides over a materialised value
  inlined,   ///< costs nothing: a view read through by its readers, a generator made anew by each
  dead,      ///< nobody needs it
};

/// Where a view's elements lie: in the memory of `base`, or made by the generator that makes `base`.
struct Place {
  ir::ValueId base = ir::no_value;
  std::optional<StridedView> view;  ///< nothing when factors cannot say it
};

class Dataflow {
 public:
  /// Decides the roles and gives every value of `graph` its materialised strides. `graph` must outlive this.
  /// Views among `copies` become compute nodes.
  explicit Dataflow(ir::Graph& graph, const std::set<ir::ValueId>& copies = {});

  const ir::Graph& graph() const { return graph_; }
  const ir::Node& node(std::int32_t n) const { return graph_.nodes[static_cast<std::size_t>(n)]; }
  Role role(std::int32_t n) const { return roles_[static_cast<std::size_t>(n)]; }
  std::int32_t producer(ir::ValueId value) const { return producers_[static_cast<std::size_t>(value)]; }

  /// True for values read through: views that are not compute nodes.
  bool is_transparent(ir::ValueId value) const;
  bool is_generated_inline(ir::ValueId value) const;  ///< made by prim::full or prim::iota
  /// Where a view's value lies, whatever its role; of another value: itself.
  Place place(ir::ValueId value) const;

  /// Materialised values the node reads (generators left out), each once.
  std::vector<ir::ValueId> reads(std::int32_t n) const;
  /// Compute and external nodes that read the value, directly or through views, ascending.
  const std::vector<std::int32_t>& readers(ir::ValueId value) const {
    return readers_[static_cast<std::size_t>(value)];
  }
  /// Needed as a tensor whoever reads it: outputs, mutations, the base of a view region.
  bool is_forced(ir::ValueId value) const { return forced_[static_cast<std::size_t>(value)]; }
  /// A node over no elements: its region writes the reduction's identity, or nothing.
  bool is_empty(std::int32_t n) const;

  const std::vector<std::int32_t>& externals() const { return externals_; }

  /// Makes the last inlined view on each of the node's operands that several factors are needed for a compute node.
  /// False when there was none.
  bool copy_operands(std::int32_t n);
  /// Recomputes readers and forced values after the roles changed.
  void connect();

 private:
  void find_live(const std::set<ir::ValueId>& copies);
  void decide(std::int32_t n, const std::set<ir::ValueId>& copies);
  void decide_view(std::int32_t n, bool copy);

  ir::Graph& graph_;
  std::vector<std::int32_t> producers_;
  std::vector<Role> roles_;
  std::vector<Place> places_;
  std::vector<std::vector<std::int32_t>> readers_;
  std::vector<bool> live_, needed_, forced_;
  std::vector<std::int32_t> externals_;
};

/// Strides a compute node's value gets: those captured when they are dense, else dense in the order of its main
/// operand.
std::vector<std::int64_t> choose_strides(const ir::Graph& graph, const ir::Node& node);
/// True when every element has an address of its own and no address between them is left out.
bool is_dense(const TensorType& type);

}  // namespace cudaagent::schedule
