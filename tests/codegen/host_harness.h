// Bodies by hand, and host kernels run against the oracle.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "body_oracle.h"
#include "codegen/codegen.h"
#include "codegen/expression.h"
#include "jit/jit.h"

namespace cudaagent::testing {

/// Short spelling for bodies. Strides are given per axis; stages and levels follow from the operands.
class BodyBuilder {
 public:
  explicit BodyBuilder(std::vector<schedule::Axis> axes) { body.axes = std::move(axes); }

  std::int32_t load(DType dtype, std::vector<std::int64_t> strides, std::int64_t offset = 0) {
    schedule::Inst inst;
    inst.kind = schedule::InstKind::load;
    inst.dtype = dtype;
    inst.access = buffer(dtype, std::move(strides), offset, false);
    inst.element = along_reduced(inst.access);
    return add(inst);
  }
  std::int32_t constant(Arg value, DType dtype) {
    schedule::Inst inst;
    inst.kind = schedule::InstKind::constant;
    inst.constant = std::move(value);
    inst.dtype = dtype;
    return add(inst);
  }
  std::int32_t index(std::vector<std::int64_t> strides, std::int64_t offset = 0) {
    schedule::Inst inst;
    inst.kind = schedule::InstKind::index;
    inst.dtype = DType::i64;
    inst.access = {-1, offset, std::move(strides)};
    inst.element = along_reduced(inst.access);
    return add(inst);
  }
  std::int32_t map(const std::string& fn, DType dtype, std::vector<std::int32_t> operands) {
    schedule::Inst inst;
    inst.kind = schedule::InstKind::map;
    inst.fn = fn;
    inst.dtype = dtype;
    inst.operands = std::move(operands);
    inherit(inst);
    return add(inst);
  }
  std::int32_t reduce(ir::ReduceKind kind, std::int32_t x) {
    schedule::Inst inst;
    inst.kind = schedule::InstKind::reduce;
    inst.reduce = kind;
    inst.operands = {x};
    inherit(inst);
    inst.element = false;
    const bool boolean = kind == ir::ReduceKind::any || kind == ir::ReduceKind::all;
    const bool position = kind == ir::ReduceKind::argmax || kind == ir::ReduceKind::argmin;
    inst.dtype = boolean ? DType::b8 : position ? DType::i64 : at(x).dtype;
    return add(inst);
  }
  void store(std::int32_t x, std::vector<std::int64_t> strides, std::int64_t offset = 0) {
    schedule::Inst inst;
    inst.kind = schedule::InstKind::store;
    inst.dtype = at(x).dtype;
    inst.operands = {x};
    inst.access = buffer(inst.dtype, std::move(strides), offset, true);
    inherit(inst);
    inst.element = along_reduced(inst.access);
    add(inst);
  }

  schedule::Body body;

 private:
  schedule::Inst& at(std::int32_t i) { return body.insts[static_cast<std::size_t>(i)]; }
  std::int32_t add(schedule::Inst inst) {
    body.stages = std::max(body.stages, inst.stage + 1);
    body.insts.push_back(std::move(inst));
    return static_cast<std::int32_t>(body.insts.size()) - 1;
  }
  void inherit(schedule::Inst& inst) {
    for (const std::int32_t o : inst.operands) {
      const bool reduced = at(o).kind == schedule::InstKind::reduce;
      inst.stage = std::max(inst.stage, at(o).stage + (reduced ? 1 : 0));
      inst.element = inst.element || (at(o).element && !reduced);
    }
  }
  bool along_reduced(const schedule::Access& access) const {
    for (std::size_t a = 0; a < body.axes.size(); ++a)
      if (body.axes[a].reduced && access.strides[a] != 0) return true;
    return false;
  }
  schedule::Access buffer(DType dtype, std::vector<std::int64_t> strides, std::int64_t offset, bool output) {
    schedule::Buffer entry;
    entry.dtype = dtype;
    entry.output = output;
    std::int64_t last = offset;
    for (std::size_t a = 0; a < strides.size(); ++a)
      last += std::max<std::int64_t>(strides[a], 0) * (body.axes[a].extent - 1);
    entry.span = last + 1;
    body.buffers.push_back(entry);
    return {static_cast<std::int32_t>(body.buffers.size()) - 1, offset, std::move(strides)};
  }
};

/// Memory of a body's buffers, outputs filled with a pattern, a guard behind each.
class Memory {
 public:
  explicit Memory(const schedule::Body& body) : body_(body) {
    for (const schedule::Buffer& buffer : body.buffers)
      bytes_.emplace_back(static_cast<std::size_t>(buffer.span * dtype_size(buffer.dtype) + guard), '\x5a');
  }
  std::vector<void*> pointers() {
    std::vector<void*> result;
    for (auto& one : bytes_) result.push_back(one.data());
    return result;
  }
  void set(std::size_t buffer, std::int64_t at, Number x) {
    write(bytes_[buffer].data(), at, body_.buffers[buffer].dtype, x);
  }
  Number get(std::size_t buffer, std::int64_t at) const {
    return read(bytes_[buffer].data(), at, body_.buffers[buffer].dtype);
  }
  bool guards_hold() const {
    for (std::size_t b = 0; b < bytes_.size(); ++b)
      for (std::size_t k = bytes_[b].size() - guard; k < bytes_[b].size(); ++k)
        if (bytes_[b][k] != '\x5a') return false;
    return true;
  }
  const std::vector<char>& raw(std::size_t buffer) const { return bytes_[buffer]; }

 private:
  static constexpr std::size_t guard = 192;
  const schedule::Body& body_;
  std::vector<std::vector<char>> bytes_;
};

/// Values every function is defined on: floats around one, small integers, either bool.
inline void fill_random(const schedule::Body& body, Memory& memory, unsigned seed) {
  std::mt19937 random(seed);
  for (std::size_t b = 0; b < body.buffers.size(); ++b) {
    if (body.buffers[b].output) continue;
    for (std::int64_t k = 0; k < body.buffers[b].span; ++k) {
      Number x;
      x.f = std::normal_distribution<double>()(random);
      x.i = std::uniform_int_distribution<int>(body.buffers[b].dtype == DType::u8 ? 0 : -9, 9)(random);
      memory.set(b, k, round_to(x, body.buffers[b].dtype));
    }
  }
}

inline Options host_options() {
  Options options;
  options.cxx = "g++";
  options.prelude_dir = std::string(CUDAAGENT_SOURCE_DIR) + "/csrc/codegen/templates";
  return options;
}

inline codegen::Target host_target(int units = 2) {
  codegen::Target target;
  target.language = codegen::Language::host;
  target.arch = "native";
  target.units = units;
  return target;
}

class HostKernel {
 public:
  HostKernel(const schedule::Body& body, const codegen::Candidate& candidate, int units = 2) {
    auto source = codegen::generate(body, candidate, host_target(units), "ca_test");
    if (!source) throw std::runtime_error(source.rejection().reason);
    source_ = source.value();
    auto binary = jit::compile(source_, host_target(units), host_options());
    if (!binary) throw std::runtime_error(binary.rejection().reason + binary.rejection().log);
    auto module = jit::load(binary.value(), Device{});
    if (!module) throw std::runtime_error(module.rejection().reason);
    module_ = std::move(module.value());
  }
  explicit HostKernel(const schedule::Body& body) : HostKernel(body, codegen::choose(body, host_target())) {}

  const codegen::Source& source() const { return source_; }

  /// In two uneven ranges a launch, as two threads would.
  void run(const std::vector<void*>& buffers) {
    std::vector<std::vector<char>> scratch;
    for (const codegen::Scratch& one : source_.scratch)
      scratch.emplace_back(static_cast<std::size_t>(one.bytes), one.zeroed ? 0 : '\x77');
    for (const codegen::Launch& launch : source_.launches) {
      std::vector<void*> args;
      for (const codegen::KernelArg& arg : launch.args)
        args.push_back(arg.kind == codegen::KernelArg::Kind::buffer
                           ? buffers[static_cast<std::size_t>(arg.index)]
                           : scratch[static_cast<std::size_t>(arg.index)].data());
      const auto kernel = reinterpret_cast<jit::HostKernel>(module_->kernel(launch.kernel));
      const std::int64_t middle = (launch.count + 1) / 3;
      kernel(args.data(), middle, launch.count);
      kernel(args.data(), 0, middle);
    }
  }

 private:
  codegen::Source source_;
  std::unique_ptr<jit::Module> module_;
};

/// Runs kernel and oracle on the same inputs; outputs must agree to `tolerance` of the value plus `floor`, other dtypes
/// than floats exactly, and nothing else may be written.
template <class Kernel>
void expect_matches(const schedule::Body& body, Kernel& kernel, Memory& memory, double tolerance, double floor) {
  Memory truth = memory;
  const Memory before = memory;
  evaluate(body, truth.pointers());
  kernel.run(memory.pointers());
  EXPECT_TRUE(memory.guards_hold());
  for (std::size_t b = 0; b < body.buffers.size(); ++b) {
    const DType dtype = body.buffers[b].dtype;
    if (!body.buffers[b].output) {
      EXPECT_EQ(memory.raw(b), before.raw(b)) << "input " << b << " was written";
      continue;
    }
    for (std::int64_t k = 0; k < body.buffers[b].span; ++k) {
      const Number got = memory.get(b, k), want = truth.get(b, k);
      const bool nan = std::isnan(want.f) && std::isnan(got.f);
      const bool near = got.f == want.f || nan || std::fabs(got.f - want.f) <= tolerance * std::fabs(want.f) + floor;
      ASSERT_TRUE(is_float(dtype) ? near : got.i == want.i)
          << "output " << b << " at " << k << ": " << static_cast<double>(got.f) << "/" << got.i << " for "
          << static_cast<double>(want.f) << "/" << want.i << "\n"
          << kernel.source().text;
    }
  }
}

}  // namespace cudaagent::testing
