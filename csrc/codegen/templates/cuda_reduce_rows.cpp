// reduce_rows on CUDA: several lanes a row, vectors along the row. A row that is read again stays in registers, in
// shared memory, or spread over a cluster of blocks, as its length and the card allow.
#include <algorithm>

#include "codegen/cuda_reduce_geometry.h"
#include "codegen/registry.h"

namespace cudaagent::codegen {
namespace {

using namespace cuda;
using schedule::Body;

constexpr std::int64_t registers_for_row = 32;  ///< a thread's, so that 64 in all let blocks overlap
constexpr std::int64_t most_lanes = 512;

std::int64_t most_cluster(const Target& target) { return is_sm90(target) ? 8 : 1; }

int suits(const Body& original, const Target&) {
  if (!original.has_reduction()) return 0;
  return reads_along_columns(collapse(original)) ? 20 : 60;
}

/// Ways to keep a row of `vectors` between its stages, best first; docs/tuning/memory_bound.md has the measurements.
/// `most`: vectors a thread may hold in registers.
std::vector<ReduceShape> residences(const ReduceShape& plain, std::int64_t vectors, std::int64_t most,
                                    std::int64_t rows, const Target& target) {
  std::vector<ReduceShape> ways;
  const auto add = [&](Keep keep, std::int64_t lanes, std::int64_t cluster) {
    ways.push_back(plain);
    ways.back().keep = keep;
    ways.back().lanes = lanes;
    ways.back().cluster = cluster;
  };
  // Short rows: a few vectors a lane, so that loads overlap and fewer shuffles join them.
  if (vectors <= 32 * most) {
    add(Keep::registers, std::min<std::int64_t>(32, power_of_two(ceil_div(vectors, std::min<std::int64_t>(most, 4)))),
        1);
    return ways;
  }
  const auto spread = [&](std::int64_t cluster) {
    add(Keep::registers, round_up(ceil_div(ceil_div(vectors, cluster), most), 32), cluster);
  };
  if (vectors <= most_lanes * most) {
    // Few rows: more blocks a row reach more units.
    std::int64_t cluster = 1;
    while (cluster < most_cluster(target) && rows * cluster * 2 <= target.units && vectors >= cluster * 2 * 256)
      cluster *= 2;
    spread(cluster);
    return ways;
  }
  // Blocks of half a row overlap; one block of a longer row still beats a cluster that waits for its slowest.
  if (is_sm90(target) && vectors * 16 <= 128 << 10) add(Keep::shared, most_lanes, 2);
  add(Keep::fetched, 1024, 1);
  for (std::int64_t cluster = 2; cluster <= most_cluster(target); cluster *= 2)
    if (vectors <= cluster * most_lanes * most) spread(cluster);
  add(Keep::fetched, 1024, most_cluster(target));
  return ways;
}

std::int64_t lanes_to_read_again(std::int64_t vectors, std::int64_t rows, std::int64_t unroll, const Target& target) {
  const std::int64_t wanted = ceil_div(vectors, unroll);
  std::int64_t lanes = wanted <= 32 ? power_of_two(wanted) : std::min(round_up(wanted, 32), most_lanes);
  // Enough rows fill the machine by themselves; fewer lanes then spend less on joining.
  while (lanes > 32 && lanes % 64 == 0 && rows * lanes / 2 >= target.units * 2048 && vectors / lanes < 4 * unroll)
    lanes /= 2;
  return lanes;
}

std::int64_t groups_for(std::int64_t lanes, std::int64_t rows, const Target& target) {
  std::int64_t groups = lanes < 128 ? 128 / lanes : 1;
  while (groups > 1 && rows / groups < target.units && lanes * groups > 32) groups /= 2;
  if (lanes * groups < 32) groups = 32 / lanes;
  return lanes * groups % 32 == 0 ? groups : 1;
}

ReduceShape best_shape(const Body& body, const Target& target) {
  ReduceShape shape;
  shape.vector = row_vector(body);
  const std::int64_t vectors = body.reduced() / shape.vector, rows = body.kept();
  const std::int64_t loads =
      std::max<std::int64_t>(bytes_along(body, vector_axis(body, false), true), 1) * shape.vector;
  shape.unroll = std::clamp<std::int64_t>(64 / loads, 1, 4);
  bool reads_again = false;
  for (const PersistentStage& stage : persistent_stages(body)) reads_again = reads_again || !stage.kept.empty();
  if (reads_again && vectors > 0) {
    const std::int64_t held = std::max<std::int64_t>(registers_for_row / registers_per_element(body), shape.vector);
    for (ReduceShape way : residences(shape, vectors, std::max<std::int64_t>(held / shape.vector, 1), rows, target)) {
      way.groups = groups_for(way.lanes, rows, target);
      if (check_shape(body, way, target)) return way;
    }
  }
  shape.lanes = lanes_to_read_again(vectors, rows, shape.unroll, target);
  shape.groups = groups_for(shape.lanes, rows, target);
  return shape;
}

Params defaults(const Body& original, const Target& target) {
  const ReduceShape shape = best_shape(collapse(original), target);
  return {{"vector", shape.vector},   {"keep", static_cast<std::int64_t>(shape.keep)},
          {"cluster", shape.cluster}, {"unroll", shape.unroll},
          {"lanes", shape.lanes},     {"groups", shape.groups}};
}

std::vector<Params> variants(const Body& body, const Target& target) {
  const Params base = defaults(body, target);
  std::vector<Params> result;
  const auto add = [&](std::int64_t lanes, std::int64_t groups, std::int64_t keep, std::int64_t cluster) {
    Params params = base;
    params["lanes"] = lanes;
    params["groups"] = groups;
    params["keep"] = keep;
    params["cluster"] = cluster;
    result.push_back(std::move(params));
  };
  const std::int64_t vectors = body.reduced() / base.at("vector");
  const auto in_registers = static_cast<std::int64_t>(Keep::registers);
  const std::int64_t lanes = base.at("lanes"), keep = base.at("keep"), cluster = base.at("cluster");
  for (const std::int64_t other : {lanes * 2, lanes / 2})
    if (other >= 1 && other <= 1024 && (other < 32 || other % 32 == 0))
      add(other, std::max<std::int64_t>(128 / other, 1), keep, cluster);
  if (lanes <= 64)
    for (const std::int64_t threads : {64, 256}) add(lanes, std::max<std::int64_t>(threads / lanes, 1), keep, cluster);
  if (lanes >= 128)
    for (const std::int64_t blocks : {8, 4, 2, 1})
      for (const std::int64_t threads : {256, 512, 128, 1024})
        for (const Keep how : {Keep::shared, Keep::fetched})
          if (blocks <= most_cluster(target) && vectors >= 2 * blocks * threads)
            add(threads, 1, static_cast<std::int64_t>(how), blocks);
  if (keep) add(std::clamp<std::int64_t>(lanes, 32, most_lanes), 1, 0, 1);
  if (keep == in_registers && cluster < 8 && is_sm90(target) && lanes >= 128)
    add(lanes / 2 / 32 * 32, 1, 1, cluster * 2);
  for (const std::int64_t unroll : {2, 4, 8}) {
    Params params = base;
    params["unroll"] = unroll;
    if (keep != in_registers) result.push_back(std::move(params));
  }
  return result;
}

Outcome<Source> generate(const Body& body, const Params& params, const Target& target, const std::string& name) {
  if (auto checked =
          check_params(params, {{"lanes", 1024}, {"groups", 1024}, {"vector", 16}, {"unroll", 16}, {"cluster", 8}});
      !checked)
    return checked.rejection();
  if (params.at("keep") < 0 || params.at("keep") > static_cast<std::int64_t>(Keep::fetched))
    return Rejection{"codegen", "parameter keep is outside [0, 3]", ""};
  ReduceShape shape;
  shape.lanes = params.at("lanes");
  shape.groups = params.at("groups");
  shape.vector = params.at("vector");
  shape.unroll = params.at("unroll");
  shape.keep = static_cast<Keep>(params.at("keep"));
  shape.cluster = params.at("cluster");
  return write_reduction(collapse(body), shape, target, name);
}

}  // namespace

Template cuda_reduce_rows() { return {"reduce_rows", Language::cuda, suits, defaults, variants, generate}; }

}  // namespace cudaagent::codegen
