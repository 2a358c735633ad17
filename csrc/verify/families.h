// The input families of the precision contract, drawn from a counter: an element depends on the seed and its index
// only.
#pragma once

#include <span>
#include <vector>

#include "ir/ir.h"
#include "verify/strided.h"

namespace cudaagent::verify {

enum class Family : std::uint8_t { normal, positive, shifted, graded_rows, graded_columns, outlier, integers, special };

const char* family_name(Family family);
/// The families that differ for these inputs: all where one is a float, fewer otherwise and for very large inputs.
std::vector<Family> families_for(const ir::Graph& truth);

/// How integer inputs without a declared range are drawn.
enum class IntegerRange : std::uint8_t {
  with_negatives,  ///< [-8, 8)
  counting,        ///< [0, 8): safe as a small index or a shift
  positive,        ///< [1, 8): safe as a divisor
};
/// The widest range that no operator of the graph takes for an index, a shift count or an exponent.
IntegerRange widest_range(const ir::Graph& truth);

struct Draw {
  Family family = Family::normal;
  std::uint64_t seed = 0;
  IntegerRange integers = IntegerRange::with_negatives;
};

/// Fills `to`, the memory of input `value` of the truth graph.
void fill_input(const Elements& to, const ir::Value& value, const Draw& draw, TensorHost& host);
/// `to` (fp64) = `from` * (1 + amount * u), u drawn by element, uniform with mean 0 and mean square 1.
void perturb(const Elements& from, const Elements& to, double amount, std::uint64_t seed, TensorHost& host);

}  // namespace cudaagent::verify
