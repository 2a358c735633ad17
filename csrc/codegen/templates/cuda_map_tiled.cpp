// map_tiled on CUDA: a map that changes layout. Inputs whose contiguous axis is another than the output's go through a
// tile in shared memory, so that both sides of the transposition move whole runs of memory.
#include <algorithm>
#include <optional>

#include "codegen/analysis.h"
#include "codegen/cuda_kernel.h"
#include "codegen/cuda_walk.h"
#include "codegen/registry.h"

namespace cudaagent::codegen {
namespace {

using namespace cuda;
using schedule::Body;
using schedule::Inst;
using schedule::InstKind;

constexpr std::int64_t threads = 256;
constexpr std::int64_t most_shared = 40 << 10;

std::string number(std::int64_t value) { return std::to_string(value); }

/// A map seen as tiles over two axes: `out`, along which outputs are contiguous, and `in`, along which `loads` are.
struct Tiling {
  Body body;
  std::size_t out = 0, in = 0;
  std::vector<std::int32_t> loads;
  std::int64_t out_vector = 1, in_vector = 1;

  const Inst& inst(std::int32_t id) const { return body.insts[static_cast<std::size_t>(id)]; }
  std::int64_t size(std::int32_t id) const { return dtype_size(inst(id).dtype); }
  /// Elements from row to row of a tile: one word past the row, so that a column crosses the banks.
  std::int64_t pitch(std::int32_t id, std::int64_t tile) const {
    return tile + std::max<std::int64_t>(4 / size(id), 1);
  }
  std::int64_t shared_bytes(std::int64_t tile) const {
    std::int64_t bytes = 0;
    for (const std::int32_t id : loads) bytes += tile * pitch(id, tile) * size(id);
    return bytes;
  }
};

/// The axis that most bytes of loads are contiguous along, other than the last one; none when no load is.
std::optional<std::size_t> transposed_axis(const Body& body) {
  const std::size_t last = body.axes.size() - 1;
  std::vector<std::int64_t> bytes(body.axes.size(), 0);
  for (const Inst& inst : body.insts)
    if (inst.kind == InstKind::load && std::abs(inst.access.strides[last]) > 1)
      for (std::size_t a = 0; a < last; ++a)
        if (inst.access.strides[a] == 1) bytes[a] += dtype_size(inst.dtype);
  const auto most = std::max_element(bytes.begin(), bytes.end());
  if (*most == 0) return std::nullopt;
  return static_cast<std::size_t>(most - bytes.begin());
}

std::optional<Tiling> tiling(const Body& original) {
  if (original.has_reduction()) return std::nullopt;
  Tiling result{collapse(original), 0, 0, {}, 1, 1};
  const Body& body = result.body;
  if (body.axes.size() < 2) return std::nullopt;
  const auto in = transposed_axis(body);
  result.out = body.axes.size() - 1;
  if (!in || body.axes[*in].extent < 8 || body.axes[result.out].extent < 8) return std::nullopt;
  result.in = *in;
  std::int64_t widest = 1;
  for (std::size_t i = 0; i < body.insts.size(); ++i) {
    const Inst& inst = body.insts[i];
    if (inst.kind != InstKind::load || inst.access.strides[result.in] != 1 ||
        std::abs(inst.access.strides[result.out]) <= 1)
      continue;
    result.loads.push_back(static_cast<std::int32_t>(i));
    widest = std::max(widest, dtype_size(inst.dtype));
  }
  result.in_vector = 16 / widest;
  for (const std::int32_t id : result.loads)
    result.in_vector = access_alignment(body, result.inst(id).access, result.in, result.in_vector);
  while (body.axes[result.in].extent % result.in_vector != 0) result.in_vector /= 2;
  result.out_vector = std::min<std::int64_t>(vector_width(body, result.out, false), 8);
  return result;
}

int suits(const Body& body, const Target&) {
  const auto tiles = tiling(body);
  return tiles && tiles->shared_bytes(32) <= most_shared ? 60 : 0;
}

Params defaults(const Body& body, const Target&) {
  const Tiling tiles = *tiling(body);
  return {{"tile", tiles.shared_bytes(64) <= most_shared ? 64 : 32}};
}

std::vector<Params> variants(const Body&, const Target&) { return {{{"tile", 32}}, {{"tile", 64}}}; }

class TiledWriter {
 public:
  TiledWriter(const Tiling& tiles, std::int64_t tile)
      : tiles_(tiles), tile_(tile), wide_(needs_wide(tiles.body)), type_(wide_ ? "int64_t" : "int") {}

  void write(Text& text) {
    write_indices(text);
    const bool vectors = tiles_.in_vector > 1 || tiles_.out_vector > 1;
    if (vectors) text.line("const bool aligned = " + aligned() + ";");
    write_branches(text, vectors, [&](bool whole) { write_fill(text, whole); });
    text.line("__syncthreads();");
    write_branches(text, vectors, [&](bool whole) { write_values(text, whole); });
  }
  std::int64_t blocks() const {
    return tiles_.body.kept() / (out_extent() * in_extent()) * ceil_div(out_extent(), tile_) *
           ceil_div(in_extent(), tile_);
  }

 private:
  std::int64_t out_extent() const { return tiles_.body.axes[tiles_.out].extent; }
  std::int64_t in_extent() const { return tiles_.body.axes[tiles_.in].extent; }
  std::string aligned() const {
    const std::string in = aligned_condition(tiles_.body, tiles_.in), out = aligned_condition(tiles_.body, tiles_.out);
    return in + " && " + out;
  }
  template <class Write>
  static void write_branches(Text& text, bool both, const Write& write) {
    if (!both) return write(true);
    text.open("if (aligned)");
    write(true);
    text.close();
    text.open("else");
    write(false);
    text.close();
  }

  /// The block's tile, the axes that are not tiled, and the shared memory.
  void write_indices(Text& text) {
    const std::int64_t across = ceil_div(out_extent(), tile_), down = ceil_div(in_extent(), tile_);
    for (const std::int32_t id : tiles_.loads)
      text.line("CA_SHARED(t" + number(id) + ", " + number(tile_ * tiles_.pitch(id, tile_)) + ", " +
                ctype(tiles_.inst(id).dtype) + ");");
    text.line("const int out0 = int(blockIdx.x % " + number(across) + ") * " + number(tile_) + ";");
    text.line("const int in0 = int(blockIdx.x / " + number(across) + " % " + number(down) + ") * " + number(tile_) +
              ";");
    text.line("const int outer = blockIdx.x / " + number(across * down) + ";");
    index_.assign(tiles_.body.axes.size(), "");
    std::vector<std::size_t> axes;
    for (std::size_t a = 0; a < index_.size(); ++a)
      if (a != tiles_.out && a != tiles_.in) axes.push_back(a);
    std::vector<std::string> locals;
    decompose(tiles_.body, axes, "outer", type_, locals, index_);
    for (const std::string& local : locals) text.line(local);
  }

  /// Threads run along `in`; the tile's rows lie along it too.
  void write_fill(Text& text, bool whole) {
    const std::int64_t vector = tiles_.in_vector, line = tile_ / vector, rounds = ceil_div(tile_ * line, threads);
    const auto each = [&](const std::function<void(std::int32_t)>& action) {
      text.open_unrolled("k", rounds);
      text.line("const int at = threadIdx.x + k * " + number(threads) + ", in = at % " + number(line) + " * " +
                number(vector) + ", out = at / " + number(line) + ";");
      text.open("if (out < " + number(tile_) + " && in0 + in < " + number(in_extent()) + " && out0 + out < " +
                number(out_extent()) + ")");
      for (const std::int32_t id : tiles_.loads) action(id);
      text.close();
      text.close();
    };
    std::vector<std::string> index = index_;
    index[tiles_.in] = "(in0 + in)";
    index[tiles_.out] = "(out0 + out)";
    for (const std::int32_t id : tiles_.loads)
      text.line("ca::Vec<" + ctype(tiles_.inst(id).dtype) + ", " + number(vector) + "> x" + number(id) + "[" +
                number(rounds) + "];");
    each([&](std::int32_t id) {
      const std::string from = "p" + number(tiles_.inst(id).access.buffer) + " + " +
                               affine(tiles_.inst(id).access, index, wide_ ? "ll" : "");
      text.line(
          "x" + number(id) + "[k] = ca::" +
          (whole ? "load<" + number(vector) + ">(" + from + ");" : "gather<" + number(vector) + ">(" + from + ", 1);"));
    });
    each([&](std::int32_t id) {
      text.line("ca::scatter(t" + number(id) + " + out * " + number(tiles_.pitch(id, tile_)) + " + in, 1, x" +
                number(id) + "[k]);");
    });
  }

  /// Threads run along `out`, and read the tiles by columns.
  void write_values(Text& text, bool whole) {
    const std::int64_t vector = tiles_.out_vector, line = tile_ / vector,
                       groups = std::max<std::int64_t>(tile_ * line / threads, 1);
    WalkEmitter emitter(tiles_.body, wide_);
    Walk walk;
    walk.axis = tiles_.out;
    walk.vector = vector;
    walk.unroll = std::min<std::int64_t>(groups, 4);
    walk.aligned = whole;
    walk.index = index_;
    walk.index[tiles_.in] = "in";
    walk.index[tiles_.out] = "out";
    walk.locals = {"const int at = threadIdx.x + (g + u) * " + number(threads) + ", tile_out = at % " + number(line) +
                       " * " + number(vector) + ", tile_in = at / " + number(line) + ";",
                   "const int in = in0 + tile_in, out = out0 + tile_out;"};
    walk.guard = "tile_in < " + number(tile_) + " && in < " + number(in_extent()) + " && out < " + number(out_extent());
    std::vector<std::int32_t> insts;
    for (std::size_t i = 0; i < tiles_.body.insts.size(); ++i) {
      const auto id = static_cast<std::int32_t>(i);
      if (std::find(tiles_.loads.begin(), tiles_.loads.end(), id) == tiles_.loads.end())
        insts.push_back(id);
      else
        emitter.set_name(id, "t" + number(id) + "[(tile_out + e) * " + number(tiles_.pitch(id, tile_)) + " + tile_in]");
    }
    text.directive("#pragma unroll 1");
    text.open("for (int g = 0; g < " + number(groups) + "; g += " + number(walk.unroll) + ")");
    emitter.emit(text, insts, walk, {});
    text.close();
  }

  const Tiling& tiles_;
  std::int64_t tile_;
  bool wide_;
  std::string type_;
  std::vector<std::string> index_;
};

Outcome<Source> generate(const Body& original, const Params& params, const Target& target, const std::string& name) {
  const Tiling tiles = *tiling(original);
  const std::int64_t tile = params.at("tile");
  if ((tile != 32 && tile != 64) || tiles.shared_bytes(tile) > most_shared)
    return Rejection{"codegen", "a tile is 32 or 64 wide and fits in shared memory", ""};
  TiledWriter writer(tiles, tile);
  Source source;
  source.language = Language::cuda;
  Text text;
  text.line("#include \"cudaagent_cuda.cuh\"");
  open_kernel(text, source, tiles.body, {name, threads, writer.blocks(), 1, 0, {}}, target);
  writer.write(text);
  text.close();
  source.text = text.str();
  return source;
}

}  // namespace

Template cuda_map_tiled() { return {"map_tiled", Language::cuda, suits, defaults, variants, generate}; }

}  // namespace cudaagent::codegen
