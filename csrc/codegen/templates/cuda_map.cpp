// map on CUDA: one flat space. A block takes threads * vector * unroll neighbouring elements; a thread's groups lie a
// block's width apart, so that every load of a warp is one run of memory.
#include <algorithm>

#include "codegen/analysis.h"
#include "codegen/cuda_kernel.h"
#include "codegen/cuda_walk.h"
#include "codegen/registry.h"

namespace cudaagent::codegen {
namespace {

using namespace cuda;
using schedule::Body;

int suits(const Body& body, const Target&) { return body.has_reduction() ? 0 : 50; }

/// Collapsed, but with one axis at least: a single element has an axis of extent 1.
Body flattened(const Body& original) {
  Body body = collapse(original);
  if (!body.axes.empty()) return body;
  body.axes.push_back({1, false});
  for (schedule::Inst& inst : body.insts) inst.access.strides.assign(1, 0);
  return body;
}

std::size_t fastest(const Body& body) { return body.axes.size() - 1; }

std::int64_t widest(const Body& body) { return vector_width(body, fastest(body), body.axes.size() == 1); }

std::vector<std::int32_t> all_insts(const Body& body) {
  std::vector<std::int32_t> insts(body.insts.size());
  for (std::size_t i = 0; i < insts.size(); ++i) insts[i] = static_cast<std::int32_t>(i);
  return insts;
}

Params defaults(const Body& original, const Target& target) {
  const Body body = flattened(original);
  const std::int64_t count = body.kept(), units = std::max(target.units, 1);
  Params params{{"threads", 256}, {"vector", widest(body)}, {"unroll", 1}, {"waves", 0}};
  const auto blocks = [&] { return count / (params["threads"] * params["vector"] * params["unroll"]); };
  // Small tensors: latency decides, so spread them over every unit first.
  while (blocks() < units && params["threads"] > 64) params["threads"] /= 2;
  while (blocks() < units && params["vector"] > 1) params["vector"] /= 2;
  // 64 bytes of loads in flight a thread; long expressions already keep a warp busy.
  const std::int64_t bytes = std::max<std::int64_t>(bytes_along(body, fastest(body), true), 1) * params["vector"];
  const std::int64_t work = cost(body, all_insts(body)) * params["vector"];
  while (bytes * params["unroll"] < 64 && params["unroll"] < 4 && work * params["unroll"] < 256 &&
         blocks() >= 16 * units)
    params["unroll"] *= 2;
  return params;
}

std::vector<Params> variants(const Body& body, const Target& target) {
  std::vector<Params> result;
  const Params base = defaults(body, target);
  for (const std::int64_t unroll : {1, 2, 4, 8})
    for (const std::int64_t threads : {256, 128, 512}) {
      Params params = base;
      params["unroll"] = unroll;
      params["threads"] = threads;
      result.push_back(std::move(params));
    }
  Params persistent = base;
  persistent["waves"] = 1;
  result.push_back(std::move(persistent));
  return result;
}

/// Axis indices of the element at `linear`.
Walk walk_from(const Body& body, const std::string& linear, const std::string& type) {
  Walk walk;
  walk.axis = fastest(body);
  walk.index.resize(body.axes.size());
  walk.linear = linear;
  std::vector<std::size_t> axes(body.axes.size());
  for (std::size_t a = 0; a < axes.size(); ++a) axes[a] = a;
  decompose(body, axes, linear, type, walk.locals, walk.index);
  return walk;
}

/// The groups of one block, and element by element what vectors do not reach.
void emit_block(Text& text, const Body& body, const Params& params) {
  const std::int64_t count = body.kept(), threads = params.at("threads"), vector = params.at("vector"),
                     unroll = params.at("unroll"), tile = threads * vector * unroll;
  const bool wide = needs_wide(body);
  const std::string type = wide ? "int64_t" : "int", n = std::to_string(count);
  WalkEmitter emitter(body, wide);

  Walk fast = walk_from(body, "i", type);
  fast.vector = vector;
  fast.unroll = unroll;
  fast.locals.insert(fast.locals.begin(), "const " + type + " i = first + threadIdx.x * " + std::to_string(vector) +
                                              " + u * " + std::to_string(threads * vector) + ";");
  if (count % tile != 0) fast.guard = "i < " + std::to_string(count / vector * vector);

  text.line("const " + type + " first = " + type + "(block) * " + std::to_string(tile) + ";");
  if (vector == 1) {
    emitter.emit(text, all_insts(body), fast, {});
    return;
  }
  text.line(type + " rest = first;");
  text.open("if (" + aligned_condition(body, fastest(body)) + ")");
  emitter.emit(text, all_insts(body), fast, {});
  const std::string whole = std::to_string(count / vector * vector), end = "first + " + std::to_string(tile);
  text.line(count % vector == 0 ? "rest = " + end + ";" : "rest = ca::max(first, " + type + "(" + whole + "));");
  text.close();
  Walk slow = walk_from(body, "i", type);
  slow.unroll = 1;
  slow.vector = 1;
  text.directive("#pragma unroll 1");
  text.open("for (" + type + " i = rest + threadIdx.x; i < ca::min(" + end + ", " + type + "(" + n +
            ")); i += " + std::to_string(threads) + ")");
  emitter.emit(text, all_insts(body), slow, {});
  text.close();
}

Outcome<Source> generate(const Body& original, const Params& params, const Target& target, const std::string& name) {
  const Body body = flattened(original);
  if (body.kept() == 0) return nothing_to_do();
  const std::int64_t vector = params.at("vector");
  if (auto checked = check_params(params, {{"threads", 1024}, {"vector", 16}, {"unroll", 16}}); !checked)
    return checked.rejection();
  if (params.at("threads") % 32 != 0 || widest(body) % vector != 0)
    return Rejection{"codegen", "threads is a multiple of 32 and vector divides " + std::to_string(widest(body)), ""};

  Source source;
  source.language = Language::cuda;
  const std::int64_t blocks = ceil_div(body.kept(), params.at("threads") * vector * params.at("unroll"));
  KernelShape shape{name, params.at("threads"), blocks, 1, 0, {}};
  const std::int64_t resident = params.at("waves") * target.units * (2048 / shape.threads);
  const bool persistent = params.at("waves") > 0 && resident < blocks;
  if (persistent) shape.blocks = resident;

  Text text;
  text.line("#include \"cudaagent_cuda.cuh\"");
  open_kernel(text, source, body, shape, target);
  if (persistent)
    text.open("for (unsigned block = blockIdx.x; block < " + std::to_string(blocks) + "; block += gridDim.x)");
  else
    text.line("const unsigned block = blockIdx.x;");
  emit_block(text, body, params);
  if (persistent) text.close();
  text.close();
  source.text = text.str();
  return source;
}

}  // namespace

Template cuda_map() { return {"map", Language::cuda, suits, defaults, variants, generate}; }

}  // namespace cudaagent::codegen
