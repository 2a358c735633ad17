#include "codegen/cuda_kernel.h"

#include <algorithm>

#include "codegen/analysis.h"
#include "codegen/expression.h"

namespace cudaagent::codegen::cuda {

using schedule::Body;
using schedule::Inst;
using schedule::InstKind;

namespace {

constexpr std::int64_t narrow_limit = (std::int64_t{1} << 31) - (1 << 20);

bool is_access(const Inst& inst) { return inst.kind == InstKind::load || inst.kind == InstKind::store; }

}  // namespace

void open_kernel(Text& text, Source& source, const Body& body, const KernelShape& shape, const Target& target) {
  Launch launch;
  launch.kernel = shape.name;
  launch.grid[0] = shape.blocks;
  launch.block[0] = static_cast<std::int32_t>(shape.threads);
  launch.cluster = static_cast<std::int32_t>(shape.cluster);
  launch.shared_bytes = static_cast<std::int32_t>(shape.shared_bytes);
  launch.pdl = is_sm90(target);
  std::string parameters;
  const auto add = [&](KernelArg::Kind kind, std::size_t index, const std::string& declaration) {
    launch.args.push_back({kind, static_cast<std::int32_t>(index)});
    parameters += (parameters.empty() ? "" : ", ") + declaration + std::to_string(index);
  };
  for (std::size_t b = 0; b < body.buffers.size(); ++b)
    add(KernelArg::Kind::buffer, b, (body.buffers[b].output ? "" : "const ") + ctype(body.buffers[b].dtype) + "* p");
  for (std::size_t s = 0; s < shape.scratch.size(); ++s) add(KernelArg::Kind::scratch, s, shape.scratch[s] + "* s");
  source.launches.push_back(std::move(launch));

  std::string bounds = std::to_string(shape.threads);
  if (shape.blocks_per_unit) bounds += ", " + std::to_string(shape.blocks_per_unit);
  text.open("extern \"C\" __global__ void __launch_bounds__(" + bounds + ") " + shape.name + "(" + parameters + ")");
  text.line("ca::wait_for_producers();");
}

Source nothing_to_do() {
  Source source;
  source.language = Language::cuda;
  source.text = "#include \"cudaagent_cuda.cuh\"\n";
  return source;
}

std::string aligned_condition(const Body& body, std::size_t vector_axis) {
  std::vector<bool> used(body.buffers.size(), false);
  for (const Inst& inst : body.insts)
    if (is_access(inst) && inst.access.strides[vector_axis] == 1)
      used[static_cast<std::size_t>(inst.access.buffer)] = true;
  std::string pointers;
  for (std::size_t b = 0; b < used.size(); ++b)
    if (used[b]) pointers += (pointers.empty() ? "p" : ", p") + std::to_string(b);
  return pointers.empty() ? "true" : "ca::aligned(" + pointers + ")";
}

std::int64_t widest_access(const Body& body, std::size_t axis) {
  std::int64_t widest = 0;
  for (const Inst& inst : body.insts)
    if (is_access(inst) && inst.access.strides[axis] != 0)
      widest = std::max(widest, dtype_size(body.buffers[static_cast<std::size_t>(inst.access.buffer)].dtype));
  return widest;
}

std::int64_t vector_width(const Body& body, std::size_t axis, bool ragged) {
  const std::int64_t widest = widest_access(body, axis);
  if (widest == 0) return 1;
  std::int64_t width = 16 / widest;
  for (const Inst& inst : body.insts)
    if (is_access(inst) && inst.access.strides[axis] == 1) width = access_alignment(body, inst.access, axis, width);
  while (!ragged && body.axes[axis].extent % width != 0) width /= 2;
  return width;
}

std::int64_t bytes_along(const Body& body, std::size_t axis, bool loads_only) {
  std::int64_t bytes = 0;
  for (const Inst& inst : body.insts)
    if (inst.kind == InstKind::load || (inst.kind == InstKind::store && !loads_only))
      if (inst.access.strides[axis] != 0)
        bytes += dtype_size(body.buffers[static_cast<std::size_t>(inst.access.buffer)].dtype);
  return bytes;
}

bool needs_wide(const Body& body) {
  if (body.kept() >= narrow_limit / std::max<std::int64_t>(body.reduced(), 1)) return true;
  for (const Inst& inst : body.insts) {
    if (!is_access(inst)) continue;
    std::int64_t reach = std::abs(inst.access.offset);
    for (std::size_t a = 0; a < body.axes.size(); ++a) reach += std::abs(inst.access.strides[a]) * body.axes[a].extent;
    if (reach >= narrow_limit) return true;
  }
  return false;
}

int compute_capability(const Target& target) { return std::stoi(target.arch.substr(3)); }

bool is_sm90(const Target& target) { return compute_capability(target) >= 90; }

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

std::int64_t power_of_two(std::int64_t a) {
  std::int64_t power = 1;
  while (power < a) power *= 2;
  return power;
}

Outcome<int> check_params(const Params& params, const std::vector<Bound>& bounds) {
  for (const Bound& bound : bounds) {
    const std::int64_t value = params.at(bound.key);
    if (value < 1 || value > bound.most)
      return Rejection{"codegen",
                       std::string("parameter ") + bound.key + " = " + std::to_string(value) + " is outside [1, " +
                           std::to_string(bound.most) + "]",
                       ""};
  }
  return 0;
}

}  // namespace cudaagent::codegen::cuda
