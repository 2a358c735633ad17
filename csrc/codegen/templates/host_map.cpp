// Template "map" for the host: bodies without reductions. One iteration is one block of the axis the lanes run along,
// at one place of the other axes. Where an input is laid out along another axis, iterations are tiles of the two, so
// that each of its cache lines is used up while it is near.
#include <algorithm>

#include "codegen/host_layout.h"
#include "codegen/host_writer.h"
#include "codegen/registry.h"

namespace cudaagent::codegen {

namespace {

using schedule::Body;
using schedule::Inst;
using schedule::InstKind;
using Params = std::map<std::string, std::int64_t>;

/// The axis, other than `fastest`, along which some access is contiguous that is strided along `fastest`.
std::optional<std::size_t> crossing_axis(const Body& body, std::size_t fastest) {
  for (const Inst& inst : body.insts) {
    if (inst.kind != InstKind::load && inst.kind != InstKind::store) continue;
    if (std::abs(inst.access.strides[fastest]) <= 1) continue;
    for (std::size_t a = 0; a < body.axes.size(); ++a)
      if (a != fastest && inst.access.strides[a] == 1 && body.axes[a].extent > 1) return a;
  }
  return std::nullopt;
}

int suits(const Body& body, const Target&) { return body.has_reduction() ? 0 : 100; }

Params defaults(const Body& full, const Target&) {
  const Body body = collapse(full);
  const std::optional<std::size_t> fastest = vector_axis(body, AxisGroup::any);
  if (!fastest) return {{"lanes", 1}, {"block", 1}, {"tile", 1}};
  const bool crossing = crossing_axis(body, *fastest).has_value();
  return {{"lanes", lanes_for(body, body.axes[*fastest].extent)},
          {"block", crossing ? 128 : 8192},
          {"tile", crossing ? 16 : 1}};
}

std::vector<Params> variants(const Body& body, const Target& target) {
  const Params start = defaults(body, target);
  if (start.at("tile") > 1) return with_each(start, "tile", {8, 32});
  if (start.at("lanes") > 1) return with_each(start, "block", {2048, 32768});
  return {};
}

/// What one kernel iterates over.
struct Shape {
  std::size_t fastest = 0;
  std::optional<std::size_t> crossing;
  std::vector<std::size_t> outer;  ///< the remaining axes
  std::int64_t blocks = 1, tiles = 1, outer_count = 1;
  std::int64_t block = 1, tile = 1, lanes = 1;
};

Shape shape_of(const Body& body, const Params& params) {
  Shape shape;
  shape.lanes = params.at("lanes");
  const std::optional<std::size_t> fastest = vector_axis(body, AxisGroup::any);
  if (!fastest) return shape;
  shape.fastest = *fastest;
  shape.tile = params.at("tile");
  if (shape.tile > 1) shape.crossing = crossing_axis(body, *fastest);
  if (!shape.crossing) shape.tile = 1;
  const std::int64_t extent = body.axes[*fastest].extent;
  shape.block = std::min(std::max(params.at("block") / shape.lanes, std::int64_t{1}) * shape.lanes, extent);
  shape.blocks = (extent + shape.block - 1) / shape.block;
  if (shape.crossing) shape.tiles = (body.axes[*shape.crossing].extent + shape.tile - 1) / shape.tile;
  for (std::size_t a = 0; a < body.axes.size(); ++a) {
    if (a == *fastest || a == shape.crossing) continue;
    shape.outer.push_back(a);
    shape.outer_count *= body.axes[a].extent;
  }
  return shape;
}

/// Instructions that do not vary along the lanes' axis once a block, the others for every vector of it.
void write_block(HostWriter& out, const Shape& shape) {
  const Body& body = out.body();
  const auto write = [&](bool vectors) {
    for (std::size_t i = 0; i < body.insts.size(); ++i) {
      const auto id = static_cast<std::int32_t>(i);
      if ((shape.lanes == 1 || out.varies(id)) != vectors) continue;
      if (body.insts[i].kind == InstKind::store)
        out.store(id);
      else
        out.define(id);
    }
  };
  if (body.axes.empty()) return write(true);
  write(false);
  const std::string i = HostWriter::index(shape.fastest), lanes = std::to_string(shape.lanes);
  const std::int64_t extent = body.axes[shape.fastest].extent, rest = extent % shape.lanes;
  out.open("const auto step = [&](int64_t " + i + ") __attribute__((always_inline))");
  write(true);
  out.close(";");
  out.line("for (int64_t i = low; i + " + lanes + " <= high; i += " + lanes + ") step(i);");
  // The last vector overlaps its neighbour: what it writes twice is the same.
  if (rest)
    out.line("if (high == " + std::to_string(extent) + "ll) step(" + std::to_string(extent - shape.lanes) + "ll);");
}

void write_iteration(HostWriter& out, const Shape& shape) {
  const Body& body = out.body();
  const auto range = [&](const std::string& low, const std::string& high, const std::string& at, std::int64_t step,
                         std::int64_t extent) {
    out.line("const int64_t " + low + " = (" + at + ") * " + std::to_string(step) + "ll;");
    out.line("const int64_t " + high + " = " + low + " + " + std::to_string(step) + "ll < " + std::to_string(extent) +
             "ll ? " + low + " + " + std::to_string(step) + "ll : " + std::to_string(extent) + "ll;");
  };
  if (body.axes.empty()) return write_block(out, shape);
  const std::string blocks = std::to_string(shape.blocks) + "ll", tiles = std::to_string(shape.tiles) + "ll";
  range("low", "high", "it % " + blocks, shape.block, body.axes[shape.fastest].extent);
  out.split_index(shape.outer, "it / " + std::to_string(shape.blocks * shape.tiles) + "ll");
  if (!shape.crossing) return write_block(out, shape);
  range("first", "last", "it / " + blocks + " % " + tiles, shape.tile, body.axes[*shape.crossing].extent);
  const std::string i = HostWriter::index(*shape.crossing);
  out.open("for (int64_t " + i + " = first; " + i + " < last; ++" + i + ")");
  write_block(out, shape);
  out.close();
}

Outcome<Source> generate(const Body& full, const Params& params, const Target&, const std::string& name) {
  const Body body = collapse(full);
  const std::optional<std::size_t> fastest = vector_axis(body, AxisGroup::any);
  const std::int64_t lanes = params.at("lanes");
  if (lanes < 1 || lanes > 64 || (lanes & (lanes - 1)) != 0 || (fastest && lanes > body.axes[*fastest].extent) ||
      (!fastest && lanes != 1) || params.at("block") < 1 || params.at("tile") < 1)
    return Rejection{"codegen", "map: lanes must be a power of two no longer than the axis; block and tile positive",
                     ""};
  const Shape shape = shape_of(body, params);
  HostWriter out(body, shape.fastest, static_cast<int>(shape.lanes), false);
  out.open_kernel(name);
  Launch launch;
  launch.kernel = name;
  launch.args = buffer_args(body);
  if (body.kept() > 0) {
    out.open("for (int64_t it = begin; it < end; ++it)");
    write_iteration(out, shape);
    out.close();
    launch.count = shape.blocks * shape.tiles * shape.outer_count;
    launch.grain = grain_for(shape.block * shape.tile);
  }
  out.close();
  Source source;
  source.language = Language::host;
  source.text = out.source();
  source.launches = {launch};
  return source;
}

}  // namespace

Template host_map() { return {"map", Language::host, suits, defaults, variants, generate}; }

}  // namespace cudaagent::codegen
