// reduce_split on CUDA: too few rows (or columns) to fill the machine, so each is split over blocks. One kernel a
// stage; each joins the partial results that the ones before it left in scratch, in a fixed order.
#include <algorithm>

#include "codegen/cuda_reduce.h"
#include "codegen/registry.h"

namespace cudaagent::codegen {
namespace {

using namespace cuda;
using schedule::Body;

/// Below this a second kernel costs more than one unit's share of the row.
constexpr std::int64_t least_row_bytes = 192 << 10;

/// Bytes of a row that one block of columns should read at once; half of it already wastes some of memory's speed.
constexpr std::int64_t line_bytes = 128;

int suits(const Body& original, const Target& target) {
  if (!original.has_reduction()) return 0;
  const Body body = collapse(original);
  const bool columns = reads_along_columns(body);
  const std::int64_t bytes = std::max<std::int64_t>(bytes_along(body, vector_axis(body, columns), true), 1);
  const std::int64_t row_bytes = body.reduced() * bytes;
  if (columns) {
    // A block of columns has few threads in flight, so several should share a unit.
    const std::int64_t blocks = ceil_div(body.kept() * bytes, line_bytes);
    return blocks < 4 * target.units && row_bytes / bytes * line_bytes > least_row_bytes ? 70 : 5;
  }
  // A cluster of eight blocks covers moderately long rows in one kernel.
  const std::int64_t reach = is_sm90(target) && row_bytes <= (1 << 20) ? 8 : 1;
  return body.kept() * reach < target.units / 2 && row_bytes > least_row_bytes ? 70 : 5;
}

Params defaults(const Body& original, const Target& target) {
  const Body body = collapse(original);
  const bool columns = reads_along_columns(body);
  const std::size_t axis = vector_axis(body, columns);
  const std::int64_t vector = columns ? vector_width(body, axis, false) : row_vector(body);
  const std::int64_t bytes = std::max<std::int64_t>(bytes_along(body, axis, true), 1) * vector;
  const std::int64_t unroll = std::clamp<std::int64_t>(64 / bytes, 1, 4), units = std::max(target.units, 1);
  std::int64_t lanes = 256, groups = 1;
  if (columns) {
    lanes = std::min<std::int64_t>(32, power_of_two(ceil_div(body.kept(), vector)));
    // Many lines: the last kernel joins the splits with one block's threads.
    groups = 512 / lanes;
  }
  const std::int64_t blocks = columns ? ceil_div(body.kept(), lanes * vector) : ceil_div(body.kept(), groups);
  // What one block passes over at once; a split is several of these long.
  const std::int64_t stride = (columns ? groups : lanes * vector) * unroll;
  // One wave: 1024 threads a unit are resident whatever their registers, with 64 KiB on the way.
  const std::int64_t splits =
      std::clamp<std::int64_t>(units * 1024 / (lanes * groups) / blocks, 1, ceil_div(body.reduced(), 2 * stride));
  return {{"columns", columns}, {"lanes", lanes},   {"groups", groups},
          {"vector", vector},   {"unroll", unroll}, {"splits", std::max<std::int64_t>(splits, 2)}};
}

std::vector<Params> variants(const Body& body, const Target& target) {
  const Params base = defaults(body, target);
  std::vector<Params> result;
  for (const std::int64_t factor : {2, 1})
    for (const std::int64_t unroll : {2, 4, 8}) {
      Params params = base;
      params["splits"] = base.at("splits") * factor;
      params["unroll"] = unroll;
      result.push_back(std::move(params));
    }
  return result;
}

Outcome<Source> generate(const Body& body, const Params& params, const Target& target, const std::string& name) {
  if (auto checked =
          check_params(params, {{"lanes", 1024}, {"groups", 1024}, {"vector", 16}, {"unroll", 16}, {"splits", 65536}});
      !checked)
    return checked.rejection();
  ReduceShape shape;
  shape.columns = params.at("columns") != 0;
  shape.lanes = params.at("lanes");
  shape.groups = params.at("groups");
  shape.vector = params.at("vector");
  shape.unroll = params.at("unroll");
  shape.splits = params.at("splits");
  if (shape.splits < 2) return Rejection{"codegen", "a split has at least two parts", ""};
  return write_reduction(collapse(body), shape, target, name);
}

}  // namespace

Template cuda_reduce_split() { return {"reduce_split", Language::cuda, suits, defaults, variants, generate}; }

}  // namespace cudaagent::codegen
