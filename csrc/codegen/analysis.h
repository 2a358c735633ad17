// What every template asks of a body: what each stage computes, and how each access moves.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "schedule/schedule.h"

namespace cudaagent::codegen {

/// One pass over a row. First the `row` instructions run, once a row; then `element` runs for every element, feeding
/// `reduces` and `stores`. An element-level value is recomputed in each stage that needs it: nothing but row values
/// (results of reduces included) lives from one stage to the next.
struct Stage {
  std::vector<std::int32_t> row;      ///< row-level loads, constants, maps and stores, in order
  std::vector<std::int32_t> element;  ///< element-level instructions in order: loads, maps, reduces and stores
  std::vector<std::int32_t> reduces;  ///< those of `element` that are reduces
  std::vector<std::int32_t> stores;   ///< those of `element` that are stores
};

/// One entry per stage of the body. A body without reductions has one stage, all of it in `row`.
std::vector<Stage> stages(const schedule::Body& body);

/// What each stage computes when element-level values stay known.
struct PersistentStage {
  std::vector<std::int32_t> element;  ///< computed in this stage for the first time
  std::set<std::int32_t> kept;        ///< of those, what a later stage uses
};
std::vector<PersistentStage> persistent_stages(const schedule::Body& body);

/// What a stage computes, in order, when earlier stages left `remembered` values (by the stage that computed them
/// first).
struct Recall {
  std::vector<std::int32_t> insts;  ///< element-level instructions, recalled ones included
  std::set<std::int32_t> recalled;
};
Recall recall(const schedule::Body& body, const std::vector<Stage>& plain, std::size_t stage,
              const std::map<std::int32_t, std::size_t>& remembered);

/// Cost of computing an element-level value from loads.
int cost_of_value(const schedule::Body& body, std::int32_t inst);

/// The body with axes of extent 1 dropped and neighbours merged where every access allows. Order is kept, so the
/// count of argmax is too. Of reduced axes one always remains.
schedule::Body collapse(const schedule::Body& body);

/// Largest power of two, at most `most`, that divides the offset and every stride of an axis other than `fastest`:
/// vectors of that many elements along `fastest` stay aligned when the buffer is.
std::int64_t access_alignment(const schedule::Body& body, const schedule::Access& access, std::size_t fastest,
                              std::int64_t most);

/// Number of kept axes; the reduced ones follow.
std::size_t kept_axes(const schedule::Body& body);

/// Sum of the map functions' costs over the given instructions (ir::MapFn::cost).
int cost(const schedule::Body& body, const std::vector<std::int32_t>& insts);

}  // namespace cudaagent::codegen
