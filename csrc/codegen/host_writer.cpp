#include "codegen/host_writer.h"

#include <algorithm>

#include "codegen/analysis.h"

namespace cudaagent::codegen {

using schedule::Access;
using schedule::Inst;
using schedule::InstKind;

HostWriter::HostWriter(const schedule::Body& body, std::size_t vector_axis, int lanes, bool kept_lanes)
    : body_(body), vector_axis_(vector_axis), lanes_(lanes) {
  varies_.resize(body.insts.size());
  for (std::size_t i = 0; i < body.insts.size(); ++i) {
    const Inst& inst = body.insts[i];
    names_.push_back("v" + std::to_string(i));
    if (lanes == 1) continue;
    if (inst.kind == InstKind::load || inst.kind == InstKind::index || inst.kind == InstKind::store)
      varies_[i] = inst.access.strides[vector_axis] != 0;
    else if (inst.kind == InstKind::reduce)
      varies_[i] = kept_lanes;
    else
      varies_[i] = std::any_of(inst.operands.begin(), inst.operands.end(), [&](std::int32_t o) { return varies(o); });
  }
}

void HostWriter::line(const std::string& text) {
  text_ += std::string(static_cast<std::size_t>(depth_) * 2, ' ') + text + "\n";
}

void HostWriter::open(const std::string& text) {
  line(text.empty() ? "{" : text + " {");
  ++depth_;
}

void HostWriter::close(const std::string& after) {
  --depth_;
  line("}" + after);
}

std::string HostWriter::type(DType dtype, bool vector) const {
  return vector && lanes_ > 1 ? "ca::vec<" + ctype(dtype) + ">" : ctype(dtype);
}

std::string HostWriter::operand(std::int32_t inst, bool as_vector) const {
  const std::string& name = names_[static_cast<std::size_t>(inst)];
  if (!as_vector || lanes_ == 1 || varies(inst)) return name;
  return type(body_.insts[static_cast<std::size_t>(inst)].dtype, true) + "(" + name + ")";
}

std::string HostWriter::address(const Access& access) const {
  std::vector<std::string> names;
  for (std::size_t a = 0; a < body_.axes.size(); ++a) names.push_back(body_.axes[a].extent == 1 ? "" : index(a));
  return affine(access, names);
}

std::string HostWriter::value(std::int32_t id) const {
  const Inst& inst = body_.insts[static_cast<std::size_t>(id)];
  const bool vector = varies(id);
  if (inst.kind == InstKind::load) {
    const std::string pointer = "p" + std::to_string(inst.access.buffer), at = address(inst.access);
    if (!vector) return pointer + "[" + at + "]";
    const std::int64_t stride = inst.access.strides[vector_axis_];
    if (stride == 1) return "ca::load(" + pointer + " + " + at + ")";
    return "ca::gather(" + pointer + " + " + at + ", " + std::to_string(stride) + "ll)";
  }
  if (inst.kind == InstKind::index) {
    if (!vector) return "int64_t(" + address(inst.access) + ")";
    return "ca::iota<int64_t>(" + address(inst.access) + ", " + std::to_string(inst.access.strides[vector_axis_]) +
           "ll)";
  }
  if (vector && inst.fn == "eq") {
    // A class index against the place in the row.
    for (const std::size_t side : {0, 1})
      if (counts_lanes(inst.operands[side]) && !varies(inst.operands[1 - side])) {
        const Access& place = body_.insts[static_cast<std::size_t>(inst.operands[side])].access;
        return "ca::lanes_at(" + address(place) + ", " + std::to_string(place.strides[vector_axis_]) + ", " +
               operand(inst.operands[1 - side], false) + ")";
      }
  }
  return expression(inst, [&](std::int32_t o) { return operand(o, vector); });
}

bool HostWriter::counts_lanes(std::int32_t id) const {
  const Inst& inst = body_.insts[static_cast<std::size_t>(id)];
  if (inst.kind != InstKind::index || inst.dtype != DType::i64) return false;
  const std::int64_t step = inst.access.strides[vector_axis_];
  return step > 0 && step < 1 << 20;
}

void HostWriter::define(std::int32_t id) {
  const Inst& inst = body_.insts[static_cast<std::size_t>(id)];
  line("const " + type(inst.dtype, varies(id)) + " " + names_[static_cast<std::size_t>(id)] + " = " + value(id) + ";");
}

void HostWriter::store(std::int32_t id) {
  const Inst& inst = body_.insts[static_cast<std::size_t>(id)];
  const std::string pointer = "p" + std::to_string(inst.access.buffer), at = address(inst.access);
  if (!varies(id)) {
    line(pointer + "[" + at + "] = " + operand(inst.operands[0], false) + ";");
    return;
  }
  const std::int64_t stride = inst.access.strides[vector_axis_];
  const std::string x = operand(inst.operands[0], true);
  if (stride == 1)
    line(std::string("ca::store(") + pointer + " + " + at + ", " + x + ");");
  else
    line("ca::scatter(" + pointer + " + " + at + ", " + std::to_string(stride) + "ll, " + x + ");");
}

void HostWriter::open_kernel(const std::string& name) {
  open("extern \"C\" __attribute__((visibility(\"default\"))) void " + name +
       "(void* const* args, int64_t begin, int64_t end)");
  for (std::size_t b = 0; b < body_.buffers.size(); ++b) {
    const std::string type = (body_.buffers[b].output ? "" : "const ") + ctype(body_.buffers[b].dtype);
    line(type + "* __restrict const p" + std::to_string(b) + " = static_cast<" + type + "*>(args[" + std::to_string(b) +
         "]);");
  }
}

void HostWriter::split_index(const std::vector<std::size_t>& axes, const std::string& text) {
  std::int64_t inner = 1;
  std::vector<std::string> lines;
  for (std::size_t k = axes.size(); k-- > 0;) {
    const std::int64_t extent = body_.axes[axes[k]].extent;
    std::string value = inner == 1 ? text : text + " / " + std::to_string(inner) + "ll";
    if (k > 0) value = "(" + value + ") % " + std::to_string(extent) + "ll";
    lines.push_back("const int64_t " + index(axes[k]) + " = " + value + ";");
    inner *= extent;
  }
  for (const std::string& one : lines) line(one);
}

std::string HostWriter::source() const {
  const auto uses = [&](const std::vector<const char*>& fns) {
    return std::any_of(body_.insts.begin(), body_.insts.end(), [&](const Inst& inst) {
      return inst.kind == InstKind::map && std::find(fns.begin(), fns.end(), inst.fn) != fns.end();
    });
  };
  std::string text = "#define CA_LANES " + std::to_string(std::max(lanes_, 2)) + "\n#include \"" +
                     prelude_name(Language::host) + "\"\n";
  if (body_.has_reduction()) text += "#include \"cudaagent_host_reduce.h\"\n";
  if (uses({"lgamma", "digamma", "erfinv", "i0", "i1"})) text += "#include \"cudaagent_host_special.h\"\n";
  return text + "\n" + text_;
}

std::vector<KernelArg> buffer_args(const schedule::Body& body) {
  std::vector<KernelArg> args;
  for (std::size_t b = 0; b < body.buffers.size(); ++b)
    args.push_back({KernelArg::Kind::buffer, static_cast<std::int32_t>(b)});
  return args;
}

std::int64_t grain_for(std::int64_t elements) {
  constexpr std::int64_t worth_a_thread = 16384;
  return std::max<std::int64_t>(1, worth_a_thread / std::max<std::int64_t>(elements, 1));
}

}  // namespace cudaagent::codegen
