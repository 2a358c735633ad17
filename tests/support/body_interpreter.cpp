#include "support/body_interpreter.h"

#include <map>
#include <optional>

#include "support/scalar_ops.h"

namespace cudaagent::testing {

namespace {

using schedule::Access;
using schedule::Body;
using schedule::Inst;
using schedule::InstKind;

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

void require(bool holds, const char* rule) {
  if (!holds) throw InternalError(std::string("body: ") + rule);
}

class Interpreter {
 public:
  Interpreter(const Body& body, std::vector<std::vector<double>>& buffers)
      : body_(body), buffers_(buffers), index_(body.axes.size(), 0), values_(body.insts.size(), 0) {
    for (const std::vector<double>& buffer : buffers) stored_.emplace_back(buffer.size(), false);
    check();
  }

  void run() {
    const std::size_t kept = body_.axes.size() - reduced_axes();
    loop(0, kept, [&] { run_row(kept); });
  }

 private:
  std::size_t reduced_axes() const {
    std::size_t count = 0;
    for (const schedule::Axis& axis : body_.axes) count += axis.reduced ? 1 : 0;
    return count;
  }

  void check() const {
    require(buffers_.size() == body_.buffers.size(), "has another number of buffers");
    for (std::size_t a = 1; a < body_.axes.size(); ++a) {
      require(body_.axes[a].reduced >= body_.axes[a - 1].reduced, "has a kept axis behind a reduced one");
    }
    std::int32_t highest = 0;
    for (std::size_t i = 0; i < body_.insts.size(); ++i) {
      const Inst& inst = body_.insts[i];
      highest = std::max(highest, inst.stage);
      std::int32_t stage = 0;
      for (const std::int32_t operand : inst.operands) {
        require(operand >= 0 && at(operand) < i, "uses an instruction before it is there");
        const Inst& source = body_.insts[at(operand)];
        require(source.kind != InstKind::store, "uses the result of a store");
        stage = std::max(stage, source.stage + (source.kind == InstKind::reduce ? 1 : 0));
        require(!source.element || inst.element || inst.kind == InstKind::reduce, "has a row value made of an element");
      }
      require(inst.stage == stage, "has an instruction in the wrong stage");
      if (inst.kind == InstKind::reduce) require(body_.insts[at(inst.operands.at(0))].element, "reduces a row value");
      if (inst.kind == InstKind::load) require(!body_.buffers[at(inst.access.buffer)].output, "reads an output");
      if (inst.kind == InstKind::store) require(body_.buffers[at(inst.access.buffer)].output, "writes an input");
    }
    require(body_.stages == highest + 1, "counts its stages wrong");
  }

  template <class F>
  void loop(std::size_t axis, std::size_t end, const F& action) {
    if (axis == end) return action();
    for (index_[axis] = 0; index_[axis] < body_.axes[axis].extent; ++index_[axis]) loop(axis + 1, end, action);
    index_[axis] = 0;
  }

  void run_row(std::size_t kept) {
    for (std::int32_t stage = 0; stage < body_.stages; ++stage) {
      std::map<std::size_t, Accumulator> reduces;
      for (std::size_t i = 0; i < body_.insts.size(); ++i) {
        const Inst& inst = body_.insts[i];
        if (inst.stage != stage) continue;
        if (inst.kind == InstKind::reduce)
          reduces.emplace(i, Accumulator(inst.reduce, inst.dtype));
        else if (!inst.element)
          evaluate(i);
      }
      if (!body_.has_reduction()) continue;
      loop(kept, body_.axes.size(), [&] { run_element(stage, reduces); });
      for (const auto& [i, accumulator] : reduces) values_[i] = accumulator.result();
    }
  }

  void run_element(std::int32_t stage, std::map<std::size_t, Accumulator>& reduces) {
    for (std::size_t i = 0; i < body_.insts.size(); ++i) {
      const Inst& inst = body_.insts[i];
      if (inst.stage > stage || !inst.element) continue;
      if (inst.kind != InstKind::store || inst.stage == stage) evaluate(i);
    }
    for (auto& [i, accumulator] : reduces) accumulator.take(values_[at(body_.insts[i].operands[0])]);
  }

  std::int64_t address(const Access& access) const {
    std::int64_t sum = access.offset;
    for (std::size_t a = 0; a < index_.size(); ++a) sum += access.strides.at(a) * index_[a];
    return sum;
  }

  double& element(const Access& access) {
    const std::int64_t place = address(access);
    const schedule::Buffer& buffer = body_.buffers[at(access.buffer)];
    require(place >= 0 && place < buffer.span, "touches an element outside its buffer");
    return buffers_[at(access.buffer)].at(static_cast<std::size_t>(place));
  }

  void evaluate(std::size_t i) {
    const Inst& inst = body_.insts[i];
    switch (inst.kind) {
      case InstKind::load:
        values_[i] = element(inst.access);
        break;
      case InstKind::constant:
        values_[i] = constant_element(inst.constant, inst.dtype);
        break;
      case InstKind::index:
        values_[i] = static_cast<double>(address(inst.access));
        break;
      case InstKind::map:
        values_[i] = map(inst);
        break;
      case InstKind::reduce:
        break;
      case InstKind::store:
        store(inst);
        break;
    }
  }

  double map(const Inst& inst) const {
    std::vector<double> operands;
    for (const std::int32_t operand : inst.operands) operands.push_back(values_[at(operand)]);
    if (inst.fn == "convert") return convert_element(operands[0], inst.dtype);
    return apply_map(inst.fn, body_.insts[at(inst.operands.back())].dtype, operands);
  }

  void store(const Inst& inst) {
    element(inst.access) = values_[at(inst.operands[0])];
    std::vector<bool>& stored = stored_[at(inst.access.buffer)];
    const auto place = static_cast<std::size_t>(address(inst.access));
    require(!stored[place], "stores an element twice");
    stored[place] = true;
  }

  const Body& body_;
  std::vector<std::vector<double>>& buffers_;
  std::vector<std::int64_t> index_;
  std::vector<double> values_;
  std::vector<std::vector<bool>> stored_;
};

}  // namespace

void interpret_body(const Body& body, std::vector<std::vector<double>>& buffers) { Interpreter(body, buffers).run(); }

}  // namespace cudaagent::testing
