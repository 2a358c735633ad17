// The heart of the CUDA templates: a list of instructions as text, for a thread that carries `unroll` groups of
// `vector` neighbouring elements. All loads of the groups are issued before the first is used.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/cuda_text.h"
#include "codegen/expression.h"

namespace cudaagent::codegen::cuda {

/// How a thread steps over elements. The text of an index or a guard may use `u`, the group.
struct Walk {
  std::int64_t vector = 0;           ///< neighbours along `axis` a group holds; 0: one element, and no loop over it
  std::int64_t unroll = 0;           ///< groups; 0: one, and no loop over it
  std::size_t axis = 0;              ///< the axis `vector` runs along
  std::vector<std::string> locals;   ///< declarations inside the loop over groups that `index` and `guard` refer to;
                                     ///< only with such a loop
  std::vector<std::string> index;    ///< per axis, of the group's first element; an identifier, or empty for zero
  std::string linear;                ///< the same index over all axes at once, where known; may be empty
  std::string guard;                 ///< condition under which the group exists; empty: always
  std::string position;              ///< index of the element in its row, counted over the reduced axes; may use `e`
  std::string store_guard;           ///< further condition on stores; empty: none
  bool aligned = true;               ///< vectors are read and written whole
  std::set<std::int32_t> scattered;  ///< accesses that go element by element all the same
  bool ordered = true;               ///< each element's position is past those the thread met before
  std::set<std::int32_t> cascaded;   ///< reduces that go into partial_name, which the caller adds up now and then
  std::map<std::int32_t, std::string> shared;  ///< of this walk's loads, those with a place in shared memory
  std::set<std::int32_t> recalled;             ///< of those, the ones that are there already
  std::set<std::int32_t> late;  ///< loads to issue group by group, as they are used, unless they are kept
};

/// One kernel's body as text. Remembers under which name each instruction's value is known.
class WalkEmitter {
 public:
  /// `wide`: addresses are computed in 64 bits.
  WalkEmitter(const schedule::Body& body, bool wide);

  /// Emits `insts`. Values in `kept` are declared in the scope `text` is in and stay known afterwards; the others are
  /// forgotten. Reduces accumulate into what declare_accumulator made.
  void emit(Text& text, const std::vector<std::int32_t>& insts, const Walk& walk, const std::set<std::int32_t>& kept);

  /// The two halves of emit for a walk with groups, so that other text comes between: loads that stay known, then the
  /// values, none of them kept.
  void emit_loads_of(Text& text, const std::vector<std::int32_t>& insts, const Walk& walk);
  void emit_values_of(Text& text, const std::vector<std::int32_t>& insts, const Walk& walk);
  /// Declares what the elements that `insts` divide by values of their row need.
  void declare_divisors(Text& text, const std::vector<std::int32_t>& insts);
  /// Goes behind the names of loaded values, which another emitter's in the same scope must not meet.
  void set_suffix(std::string suffix) { suffix_ = std::move(suffix); }

  /// Type of the accumulator: ctype, or ca::Indexed<...> for argmax and argmin.
  std::string accumulator_type(std::int32_t reduce) const;
  std::string accumulator_start(std::int32_t reduce) const;
  /// A lambda that joins two accumulators.
  std::string join(std::int32_t reduce) const;
  /// What the graph sees of a finished accumulator.
  std::string finish(std::int32_t reduce, const std::string& accumulator) const;
  static std::string accumulator_name(std::int32_t reduce) { return "r" + std::to_string(reduce); }
  static std::string partial_name(std::int32_t reduce) { return "c" + std::to_string(reduce); }
  void declare_accumulator(Text& text, std::int32_t reduce, std::int64_t count) const;
  /// The same for a partial sum of a cascade, and its addition to the accumulator.
  void declare_partial(Text& text, std::int32_t reduce, std::int64_t count) const;
  void add_partial(Text& text, std::int32_t reduce, std::int64_t count) const;

  void set_name(std::int32_t inst, std::string name) { names_[static_cast<std::size_t>(inst)] = std::move(name); }
  const std::string& name(std::int32_t inst) const { return names_[static_cast<std::size_t>(inst)]; }

 private:
  struct Scope;
  void declare(Text& text, std::int32_t inst, const Scope& scope) const;
  void emit_loads(Text& text, const std::vector<std::int32_t>& loads, const Scope& scope);
  void emit_load(Text& text, std::int32_t id, const Scope& scope);
  void emit_rest(Text& text, const std::vector<std::int32_t>& insts, const Scope& scope);
  void emit_values(Text& text, const std::vector<std::int32_t>& insts, const Scope& scope);
  bool divides_by_row(const schedule::Inst& inst) const;
  bool small_position(std::int32_t id) const;
  std::string mapped(const schedule::Inst& inst) const;
  std::string accumulated(std::int32_t id, const std::string& to, const Walk& walk) const;
  void emit_value(Text& text, std::int32_t id, const Scope& scope);
  void emit_stores(Text& text, const std::vector<std::int32_t>& stores, const Scope& scope);
  void declare_start(Text& text, std::int32_t reduce, const std::string& name, std::int64_t count) const;
  std::string loaded_name(std::int32_t id) const { return "x" + std::to_string(id) + suffix_; }
  std::string address(const schedule::Access& access, const Walk& walk) const;

  const schedule::Body& body_;
  bool wide_;
  std::string suffix_;
  std::set<std::int32_t> divisors_;  ///< row values with a ca::Divisor d<value>
  std::vector<std::string> names_;
};

/// Declarations, appended to `locals`, of the indices of `axes` (slowest first) from the linear index `linear` over
/// them.
void decompose(const schedule::Body& body, const std::vector<std::size_t>& axes, const std::string& linear,
               const std::string& type, std::vector<std::string>& locals, std::vector<std::string>& index);

}  // namespace cudaagent::codegen::cuda
