// reduce_rows on CUDA: several lanes a row, vectors along the row; rows that fit stay in registers, spread over a
// cluster of blocks where one block does not hold them.
#include <algorithm>

#include "codegen/cuda_reduce.h"
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

/// Bytes of a row that shared memory would hold: what is not the same for many rows.
std::int64_t own_bytes(const Body& body) {
  std::int64_t bytes = 0;
  for (const schedule::Inst& inst : body.insts)
    if (inst.kind == schedule::InstKind::load && inst.element && inst.access.strides[vector_axis(body, false)] != 0 &&
        !shared_by_rows(body, inst.access))
      bytes += dtype_size(inst.dtype);
  return bytes * body.reduced();
}

struct Residence {
  Keep keep = Keep::nothing;
  std::int64_t lanes = 0, cluster = 1;
};

/// Where a row that is read again stays between its stages; docs/tuning/memory_bound.md has the measurements.
/// `most`: vectors a thread may hold in registers.
Residence residence(const Body& body, std::int64_t vectors, std::int64_t most, const Target& target) {
  // Short rows: a few vectors a lane, so that loads overlap and fewer shuffles join them.
  if (vectors <= 32 * most)
    return {Keep::registers,
            std::min<std::int64_t>(32, power_of_two(ceil_div(vectors, std::min<std::int64_t>(most, 4))))};
  if (vectors <= most_lanes * most) {
    // Few rows: more blocks a row reach more units.
    std::int64_t cluster = 1;
    while (cluster < most_cluster(target) && body.kept() * cluster * 2 <= target.units && vectors >= cluster * 2 * 256)
      cluster *= 2;
    return {Keep::registers, round_up(ceil_div(ceil_div(vectors, cluster), most), 32), cluster};
  }
  const std::int64_t room = target.shared_bytes() - reserved_shared_bytes;
  const std::int64_t bytes = own_bytes(body);
  // Blocks of half a row overlap; one block of a longer row still beats a cluster that waits for its slowest.
  if (bytes <= 128 << 10 && is_sm90(target)) return {Keep::shared, most_lanes, 2};
  if (bytes <= room) return {Keep::fetched, 1024, 1};
  for (std::int64_t cluster = 2; cluster <= most_cluster(target); cluster *= 2)
    if (vectors <= cluster * most_lanes * most)
      return {Keep::registers, round_up(ceil_div(ceil_div(vectors, cluster), most), 32), cluster};
  if (bytes / most_cluster(target) <= room) return {Keep::fetched, 1024, most_cluster(target)};
  return {};
}

Params defaults(const Body& original, const Target& target) {
  const Body body = collapse(original);
  const std::int64_t vector = row_vector(body);
  const std::int64_t vectors = body.reduced() / vector, rows = body.kept();
  const std::int64_t loads = std::max<std::int64_t>(bytes_along(body, vector_axis(body, false), true), 1) * vector;
  Params params{{"vector", vector}, {"keep", 0}, {"cluster", 1}, {"run", 1}};
  params["unroll"] = std::clamp<std::int64_t>(64 / loads, 1, 4);

  bool reads_again = false;
  if (vectors > 0)
    for (const PersistentStage& stage : persistent_stages(body)) reads_again = reads_again || !stage.kept.empty();
  Residence where;
  if (reads_again) {
    const std::int64_t held = std::max<std::int64_t>(registers_for_row / registers_per_element(body), vector);
    where = residence(body, vectors, std::max<std::int64_t>(held / vector, 1), target);
  }
  std::int64_t lanes = where.lanes;
  params["cluster"] = where.cluster;
  params["keep"] = static_cast<std::int64_t>(where.keep);
  if (lanes == 0) {
    const std::int64_t wanted = ceil_div(vectors, params["unroll"]);
    lanes = wanted <= 32 ? power_of_two(wanted) : std::min(round_up(wanted, 32), most_lanes);
    // Enough rows fill the machine by themselves; fewer lanes then spend less on joining.
    while (lanes > 32 && lanes % 64 == 0 && rows * lanes / 2 >= target.units * 2048 &&
           vectors / lanes < 4 * params["unroll"])
      lanes /= 2;
  }
  std::int64_t groups = lanes < 128 ? 128 / lanes : 1;
  while (groups > 1 && rows / groups < target.units && lanes * groups > 32) groups /= 2;
  if (lanes * groups < 32) groups = 32 / lanes;
  if (lanes * groups % 32 != 0) groups = 1;
  params["lanes"] = lanes;
  params["groups"] = groups;
  return params;
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
  const std::int64_t lanes = base.at("lanes"), keep = base.at("keep"), cluster = base.at("cluster");
  for (const std::int64_t other : {lanes * 2, lanes / 2})
    if (other >= 1 && other <= 1024 && (other < 32 || other % 32 == 0))
      add(other, std::max<std::int64_t>(128 / other, 1), keep, cluster);
  if (lanes <= 64)
    for (const std::int64_t threads : {64, 256}) add(lanes, std::max<std::int64_t>(threads / lanes, 1), keep, cluster);
  if (lanes >= 128)
    for (const std::int64_t blocks : {8, 4, 2, 1})
      for (const std::int64_t threads : {256, 512, 128, 1024})
        for (const std::int64_t how : {2, 3})
          if (blocks <= most_cluster(target) && vectors >= 2 * blocks * threads) add(threads, 1, how, blocks);
  if (keep) add(std::clamp<std::int64_t>(lanes, 32, most_lanes), 1, 0, 1);
  if (keep == 1 && cluster < 8 && is_sm90(target) && lanes >= 128) add(lanes / 2 / 32 * 32, 1, 1, cluster * 2);
  for (const std::int64_t unroll : {2, 4, 8}) {
    Params params = base;
    params["unroll"] = unroll;
    if (keep != 1) result.push_back(std::move(params));
  }
  return result;
}

Outcome<Source> generate(const Body& body, const Params& params, const Target& target, const std::string& name) {
  if (auto checked = check_params(
          params, {{"lanes", 1024}, {"groups", 1024}, {"vector", 16}, {"unroll", 16}, {"cluster", 8}, {"run", 64}});
      !checked)
    return checked.rejection();
  ReduceShape shape;
  shape.lanes = params.at("lanes");
  shape.groups = params.at("groups");
  shape.vector = params.at("vector");
  shape.unroll = params.at("unroll");
  shape.keep = static_cast<Keep>(params.at("keep"));
  shape.cluster = params.at("cluster");
  shape.run = params.at("run");
  return write_reduction(collapse(body), shape, target, name);
}

}  // namespace

Template cuda_reduce_rows() { return {"reduce_rows", Language::cuda, suits, defaults, variants, generate}; }

}  // namespace cudaagent::codegen
