// reduce_columns on CUDA: neighbouring threads take neighbouring kept elements, lines of threads share the reduced
// axes.
#include <algorithm>

#include "codegen/cuda_reduce.h"
#include "codegen/registry.h"

namespace cudaagent::codegen {
namespace {

using namespace cuda;
using schedule::Body;

int suits(const Body& original, const Target&) {
  if (!original.has_reduction()) return 0;
  const Body body = collapse(original);
  if (kept_axes(body) == 0) return 0;
  return reads_along_columns(body) ? 60 : 10;
}

Params defaults(const Body& original, const Target& target) {
  const Body body = collapse(original);
  const std::size_t axis = vector_axis(body, true);
  const std::int64_t kept = body.kept(), reduced = body.reduced(), units = std::max(target.units, 1);
  std::int64_t vector = vector_width(body, axis, false), lanes = 32, groups = 8;
  const auto blocks = [&] { return ceil_div(kept, lanes * vector); };
  // A line of 64 bytes or more keeps memory efficient; narrower blocks reach more units.
  const std::int64_t bytes = std::max<std::int64_t>(bytes_along(body, axis, true), 1);
  while (blocks() < 2 * units && lanes > 4 && lanes / 2 * vector * bytes >= 64) lanes /= 2, groups *= 2;
  while (blocks() < units && vector > 1 && lanes * vector / 2 * bytes >= 64) vector /= 2;
  while (groups > 1 && groups > reduced && lanes * groups > 32) groups /= 2;
  while (lanes * groups < 32) groups *= 2;
  bool reads_again = false;
  for (const PersistentStage& stage : persistent_stages(body)) reads_again = reads_again || !stage.kept.empty();
  const std::int64_t held = ceil_div(reduced, groups) * vector * registers_per_element(body);
  const std::int64_t unroll = std::clamp<std::int64_t>(64 / (bytes * vector), 1, 4);
  return {{"lanes", lanes},
          {"groups", groups},
          {"vector", vector},
          {"unroll", unroll},
          {"keep", reads_again && reduced > 0 && held <= 32}};
}

std::vector<Params> variants(const Body& body, const Target& target) {
  const Params base = defaults(body, target);
  std::vector<Params> result;
  for (const std::int64_t lanes : {32, 16, 8})
    for (const std::int64_t threads : {256, 512, 1024})
      for (const std::int64_t unroll : {4, 2, 8}) {
        Params params = base;
        params["lanes"] = lanes;
        params["groups"] = threads / lanes;
        params["unroll"] = unroll;
        params["keep"] = 0;
        result.push_back(std::move(params));
      }
  return result;
}

Outcome<Source> generate(const Body& body, const Params& params, const Target& target, const std::string& name) {
  if (auto checked = check_params(params, {{"lanes", 1024}, {"groups", 1024}, {"vector", 16}, {"unroll", 16}});
      !checked)
    return checked.rejection();
  ReduceShape shape;
  shape.columns = true;
  shape.lanes = params.at("lanes");
  shape.groups = params.at("groups");
  shape.vector = params.at("vector");
  shape.unroll = params.at("unroll");
  shape.keep = params.at("keep") != 0 ? Keep::registers : Keep::nothing;
  return write_reduction(collapse(body), shape, target, name);
}

}  // namespace

Template cuda_reduce_columns() { return {"reduce_columns", Language::cuda, suits, defaults, variants, generate}; }

}  // namespace cudaagent::codegen
