#include <algorithm>

#include "codegen/cuda_reduce_geometry.h"

namespace cudaagent::codegen::cuda {
namespace {

using schedule::Body;
using schedule::Inst;
using schedule::InstKind;

std::string number(std::int64_t value) { return std::to_string(value); }

/// Writes the kernels of one body. With splits, kernel s carries stage s, after it joined the partial results that the
/// kernels before it left in scratch; otherwise one kernel carries all stages.
class ReduceWriter {
 public:
  ReduceWriter(const Body& body, const ReduceShape& shape, const Target& target, const std::string& name)
      : body_(body),
        shape_(shape),
        geometry_(body, shape, target),
        target_(target),
        name_(name),
        stages_(stages(body)),
        persistent_(persistent_stages(body)),
        wide_(needs_wide(body)),
        type_(wide_ ? "int64_t" : "int") {
    for (const Stage& stage : stages_) reduces_.insert(reduces_.end(), stage.reduces.begin(), stage.reduces.end());
  }

  Source write();

 private:
  /// What one kernel carries: stages [0, first) from scratch, [first, last] by passing over elements.
  struct Part {
    std::size_t first, last;
    std::int64_t splits;
  };

  void write_kernel(const Part& part, const std::string& name);
  void write_row(const Part& part, bool aligned);
  void write_fetch();
  std::vector<std::string> row_index(std::vector<std::string>& locals) const;
  void element_index(const std::string& linear, Walk& walk) const;
  void write_block_position(const Part& part);
  void write_row_position(const Part& part);
  void write_slots(const Part& part);
  void write_stages(const Part& part, bool aligned);
  void write_row_level(WalkEmitter& emitter, const Stage& stage, bool aligned, bool stores);
  void write_shift();
  void write_shared_places();
  void write_pass(WalkEmitter& emitter, const Part& part, std::size_t s, bool aligned);
  void write_loop(WalkEmitter& emitter, std::size_t s, Walk walk, std::int64_t parts);
  Walk edge_walk(const Part& part) const;
  void share_loads(Walk& walk, std::size_t s) const;
  std::string shared_place(std::int32_t load) const;
  static std::string slots(std::int32_t reduce) { return "t" + number(reduce); }
  void write_partial_sums(WalkEmitter& emitter, std::int32_t reduce);
  void write_joins(WalkEmitter& emitter, const Stage& stage, std::int64_t cluster);
  void write_partials(std::int32_t reduce);
  void write_result(WalkEmitter& emitter, std::int32_t reduce);
  Walk row_walk(bool aligned, bool stores) const;
  Walk element_walk(const Part& part, bool aligned, bool registers) const;
  std::vector<std::int32_t> cascaded(const Stage& stage, std::int64_t parts) const;

  std::int64_t accumulators() const { return shape_.vector; }
  std::size_t scratch_index(std::int32_t reduce) const {
    return static_cast<std::size_t>(std::find(reduces_.begin(), reduces_.end(), reduce) - reduces_.begin());
  }
  std::int64_t scratch_bytes(std::int32_t reduce) const;

  const Body& body_;
  const ReduceShape& shape_;
  const Geometry geometry_;
  const Target& target_;
  const std::string& name_;
  const std::vector<Stage> stages_;
  const std::vector<PersistentStage> persistent_;
  const bool wide_;
  const std::string type_;
  std::vector<std::int32_t> reduces_;
  Source source_;
  Text text_;
};

Source ReduceWriter::write() {
  source_.language = Language::cuda;
  text_.line("#include \"cudaagent_cuda.cuh\"");
  if (shape_.splits == 1) {
    write_kernel({0, stages_.size() - 1, 1}, name_);
  } else {
    for (const std::int32_t reduce : reduces_) source_.scratch.push_back({scratch_bytes(reduce), false});
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const bool passes = !stages_[s].element.empty();
      write_kernel({s, s, passes ? shape_.splits : 1},
                   s == 0 ? name_ : name_ + "_" + number(static_cast<std::int64_t>(s) + 1));
    }
  }
  source_.text = text_.str();
  return source_;
}

std::int64_t ReduceWriter::scratch_bytes(std::int32_t reduce) const {
  const Inst& inst = body_.insts[static_cast<std::size_t>(reduce)];
  std::int64_t bytes = dtype_size(accumulator_dtype(body_, inst));
  if (inst.reduce == ir::ReduceKind::argmax || inst.reduce == ir::ReduceKind::argmin) {
    const std::int64_t index = body_.reduced() >= (std::int64_t{1} << 31) ? 8 : 4;
    bytes = round_up(round_up(bytes, index) + index, std::max(bytes, index));
  }
  return bytes * shape_.splits * body_.kept();
}

void ReduceWriter::write_kernel(const Part& part, const std::string& name) {
  KernelShape kernel;
  kernel.name = name;
  kernel.threads = shape_.lanes * shape_.groups;
  kernel.cluster = shape_.cluster;
  kernel.blocks = geometry_.row_blocks() * shape_.cluster * part.splits;
  kernel.blocks_per_unit = geometry_.blocks_per_unit();
  kernel.shared_bytes = geometry_.shared_bytes();
  WalkEmitter types(body_, wide_);
  if (shape_.splits > 1)
    for (const std::int32_t reduce : reduces_) kernel.scratch.push_back(types.accumulator_type(reduce));
  open_kernel(text_, source_, body_, kernel, target_);
  if (shape_.cluster > 1) text_.line("ca::cluster_arrive();");
  write_slots(part);
  write_shared_places();
  write_block_position(part);
  if (shape_.vector == 1) {
    write_row(part, true);
  } else {
    text_.open("if (" + aligned_condition(body_, vector_axis(body_, shape_.columns)) + ")");
    write_row(part, true);
    text_.close();
    text_.open("else");
    write_row(part, false);
    text_.close();
  }
  text_.close();
}

/// The row of the block. What a fetch brings is on its way before anything else is computed.
void ReduceWriter::write_row(const Part& part, bool aligned) {
  write_row_position(part);
  if (aligned && shape_.keep == Keep::fetched) write_fetch();
  write_stages(part, aligned);
}

/// Copies the thread's own vectors of the row into shared memory, and waits for them.
void ReduceWriter::write_fetch() {
  text_.open("for (" + type_ + " j = begin + lane * " + number(shape_.vector) +
             "; j < end; j += " + number(geometry_.step()) + ")");
  Walk walk = row_walk(true, false);
  element_index("j", walk);
  for (const std::string& local : walk.locals) text_.line(local);
  for (const auto& [load, offset] : geometry_.shared_offsets()) {
    const schedule::Access& access = body_.insts[static_cast<std::size_t>(load)].access;
    text_.line("ca::start_copy(&" + shared_place(load) + ", p" + number(access.buffer) + " + " +
               affine(access, walk.index, wide_ ? "ll" : "") + ");");
  }
  text_.close();
  text_.line("ca::wait_for_copies();");
}

/// lane, group, part; the thread's row, or first column.
void ReduceWriter::write_block_position(const Part& part) {
  const std::int64_t parts = shape_.cluster * part.splits;
  text_.line("const int lane = threadIdx.x % " + number(shape_.lanes) + ", group = threadIdx.x / " +
             number(shape_.lanes) + ";");
  const std::string block =
      shape_.columns ? "blockIdx.x % " + number(geometry_.row_blocks()) : "blockIdx.x / " + number(parts);
  const std::string share_of =
      shape_.columns ? "blockIdx.x / " + number(geometry_.row_blocks()) : "blockIdx.x % " + number(parts);
  text_.line("const int part = " + (parts == 1 ? std::string("0") : share_of) + ";");
  const std::string kept =
      shape_.columns ? "(" + type_ + "(" + block + ") * " + number(shape_.lanes) + " + lane) * " + number(shape_.vector)
                     : type_ + "(" + block + ") * " + number(shape_.groups) + " + group";
  if (geometry_.ragged_rows()) {
    text_.line("const " + type_ + " wanted = " + kept + ";");
    text_.line("const bool live = wanted < " + number(body_.kept()) + ";");
    text_.line("const " + type_ + " row = live ? wanted : 0;");
  } else {
    text_.line("const " + type_ + " row = " + kept + ";");
  }
}

/// The indices of `row`; begin and end of the block's share of it.
void ReduceWriter::write_row_position(const Part& part) {
  const std::int64_t parts = shape_.cluster * part.splits, share = geometry_.chunk(parts);
  std::vector<std::string> locals;
  row_index(locals);
  for (const std::string& local : locals) text_.line(local);
  if (geometry_.shifted()) write_shift();
  text_.line("const " + type_ + " begin = " + (geometry_.shifted() ? "head + " : "") + type_ + "(part) * " +
             number(share) + ";");
  const std::string length = geometry_.shifted() ? "tail" : number(body_.reduced());
  text_.line("const " + type_ + " end = " +
             (parts == 1 ? length : "ca::min(begin + " + number(share) + ", " + type_ + "(" + length + "))") + ";");
}

/// head: elements of the row before its first aligned vector; tail: where its whole vectors end.
void ReduceWriter::write_shift() {
  schedule::Access row = body_.insts[static_cast<std::size_t>(geometry_.alike().front())].access;
  row.strides.back() = 0;
  const std::string mask = number(shape_.vector - 1), length = number(body_.reduced());
  text_.line("const int head = int(-(" + affine(row, row_walk(true, false).index, wide_ ? "ll" : "") + ") & " + mask +
             ");");
  text_.line("const " + type_ + " tail = head + ((" + length + " - head) & ~" + type_ + "(" + mask + "));");
}

/// h<load>: the vectors of that load in dynamic shared memory, one place a vector of the block's share of the row.
void ReduceWriter::write_shared_places() {
  if (geometry_.shared_bytes() == 0) return;
  text_.line("CA_DYNAMIC_SHARED(kept, " + number(geometry_.shared_bytes()) + ");");
  for (const auto& [load, offset] : geometry_.shared_offsets()) {
    const std::string type = ctype(body_.insts[static_cast<std::size_t>(load)].dtype);
    text_.line("auto* h" + number(load) + " = reinterpret_cast<ca::Vec<" + type + ", " + number(shape_.vector) +
               ">*>(kept + " + number(offset) + ");");
  }
}

/// Shared memory: one array a reduction, so that one barrier each is enough.
void ReduceWriter::write_slots(const Part& part) {
  if (!geometry_.joins_in_shared(shape_.cluster)) return;
  WalkEmitter types(body_, wide_);
  for (std::size_t s = 0; s <= part.last; ++s)
    for (const std::int32_t reduce : stages_[s].reduces) {
      const std::string type = types.accumulator_type(reduce);
      text_.line("CA_SHARED(t" + number(reduce) + ", " + number(geometry_.slots()) + ", " +
                 (shape_.columns ? type : "ca::Slot<" + type + ">") + ");");
    }
}

void ReduceWriter::write_stages(const Part& part, bool aligned) {
  WalkEmitter emitter(body_, wide_);
  bool waited = false;
  for (std::size_t s = 0; s <= part.last; ++s) {
    const Stage& stage = stages_[s];
    write_row_level(emitter, stage, aligned, s >= part.first);
    if (s < part.first) {
      for (const std::int32_t reduce : stage.reduces) write_partial_sums(emitter, reduce);
      write_joins(emitter, stage, 1);
      for (const std::int32_t reduce : stage.reduces) write_result(emitter, reduce);
      continue;
    }
    if (stage.element.empty()) continue;
    // A column's thread has a divisor for each element of its vector.
    if (!shape_.columns) emitter.declare_divisors(text_, stage.element);
    for (const std::int32_t reduce : stage.reduces) emitter.declare_accumulator(text_, reduce, accumulators());
    write_pass(emitter, part, s, aligned);
    if (shape_.cluster > 1 && !waited && !stage.reduces.empty()) {
      text_.line("ca::cluster_wait();");
      waited = true;
    }
    write_joins(emitter, stage, shape_.cluster);
    for (const std::int32_t reduce : stage.reduces) {
      if (part.splits > 1)
        write_partials(reduce);
      else
        write_result(emitter, reduce);
    }
  }
}

/// The indices of the kept axes from the row's number, and what they need declared.
std::vector<std::string> ReduceWriter::row_index(std::vector<std::string>& locals) const {
  std::vector<std::size_t> axes(kept_axes(body_));
  for (std::size_t a = 0; a < axes.size(); ++a) axes[a] = a;
  std::vector<std::string> index(body_.axes.size());
  decompose(body_, axes, "row", type_, locals, index);
  return index;
}

Walk ReduceWriter::row_walk(bool aligned, bool stores) const {
  Walk walk;
  walk.axis = vector_axis(body_, shape_.columns);
  walk.vector = shape_.columns ? shape_.vector : 0;
  walk.aligned = aligned;
  std::vector<std::string> declared;  // by write_row_position
  walk.index = row_index(declared);
  if (stores) {
    walk.store_guard = shape_.columns ? "group == 0" : "lane == 0";
    if (shape_.cluster * shape_.splits > 1) walk.store_guard += " && part == 0";
    if (geometry_.ragged_rows()) walk.store_guard += " && live";
  }
  return walk;
}

void ReduceWriter::write_row_level(WalkEmitter& emitter, const Stage& stage, bool aligned, bool stores) {
  std::vector<std::int32_t> insts = stage.row;
  if (!stores)
    std::erase_if(insts,
                  [&](std::int32_t id) { return body_.insts[static_cast<std::size_t>(id)].kind == InstKind::store; });
  if (insts.empty()) return;
  emitter.emit(text_, insts, row_walk(aligned, stores), {insts.begin(), insts.end()});
}

/// The indices of the reduced axes from the position in the row.
void ReduceWriter::element_index(const std::string& linear, Walk& walk) const {
  std::vector<std::size_t> axes;
  for (std::size_t a = kept_axes(body_); a < body_.axes.size(); ++a) axes.push_back(a);
  decompose(body_, axes, linear, type_, walk.locals, walk.index);
}

Walk ReduceWriter::element_walk(const Part& part, bool aligned, bool registers) const {
  Walk walk = row_walk(aligned, false);
  const std::int64_t unroll = registers ? elements_per_thread(body_, shape_) / (shape_.columns ? 1 : shape_.vector)
                              : aligned ? shape_.unroll
                                        : 1;
  walk.unroll = unroll;
  walk.vector = shape_.vector;
  const std::string own = shape_.columns ? "group" : shape_.vector == 1 ? "lane" : "lane * " + number(shape_.vector);
  const std::string start = registers ? "begin + " + own : "at";
  walk.locals.push_back("const " + type_ + " j = " + start + " + u * " + number(geometry_.step()) + ";");
  element_index("j", walk);
  const std::int64_t parts = shape_.cluster * part.splits, share = geometry_.chunk(parts);
  if (geometry_.shifted() || share * parts != body_.reduced() || share % (geometry_.step() * unroll) != 0)
    walk.guard = "j < end";
  if (geometry_.ragged_rows()) walk.store_guard = "live";
  walk.position = body_.reduced() >= (std::int64_t{1} << 31) ? "int64_t(j)" : "int(j)";
  if (!shape_.columns) walk.position += " + e";
  if (geometry_.shifted()) {
    for (std::size_t i = 0; i < body_.insts.size(); ++i) walk.scattered.insert(static_cast<std::int32_t>(i));
    for (const std::int32_t id : geometry_.alike()) walk.scattered.erase(id);
  }
  // Weights come when they are used: waiting for them all would cost a row's worth of registers each.
  if (registers)
    for (const Stage& stage : stages_)
      for (const std::int32_t id : stage.element) {
        const Inst& inst = body_.insts[static_cast<std::size_t>(id)];
        if (inst.kind == InstKind::load && shared_by_rows(body_, inst.access)) walk.late.insert(id);
      }
  return walk;
}

void ReduceWriter::write_pass(WalkEmitter& emitter, const Part& part, std::size_t s, bool aligned) {
  // A misaligned call is rare: it reads again each stage, with no copy of the long unrolled text.
  const bool registers = shape_.keep == Keep::registers && aligned;
  Walk walk = element_walk(part, aligned, registers);
  // A misaligned row was not fetched.
  if (shape_.keep == Keep::shared || (shape_.keep == Keep::fetched && aligned)) share_loads(walk, s);
  // A copy: what it knows of the edges must not outlive them. Their loads are on the way while whole vectors are met;
  // later stages find them in the nearest cache.
  WalkEmitter edges = emitter;
  edges.set_suffix("t" + std::to_string(s));
  if (geometry_.shifted()) edges.emit_loads_of(text_, stages_[s].element, edge_walk(part));
  if (registers)
    emitter.emit(text_, persistent_[s].element, walk, persistent_[s].kept);
  else
    write_loop(emitter, s, std::move(walk), shape_.cluster * part.splits);
  if (geometry_.shifted()) edges.emit_values_of(text_, stages_[s].element, edge_walk(part));
}

/// The sums of a stage whose rounding a cascade keeps small.
std::vector<std::int32_t> ReduceWriter::cascaded(const Stage& stage, std::int64_t parts) const {
  std::vector<std::int32_t> sums;
  if (geometry_.cascade(parts) == 0) return sums;
  for (const std::int32_t id : stage.reduces) {
    const Inst& inst = body_.insts[static_cast<std::size_t>(id)];
    if (inst.reduce == ir::ReduceKind::sum && is_float(accumulator_dtype(body_, inst))) sums.push_back(id);
  }
  return sums;
}

/// A loop over the thread's share; sums of long shares add up partial sums.
void ReduceWriter::write_loop(WalkEmitter& emitter, std::size_t s, Walk walk, std::int64_t parts) {
  const std::string own = shape_.columns ? "group" : "lane * " + number(shape_.vector);
  const std::vector<std::int32_t> sums = cascaded(stages_[s], parts);
  const std::string next = "at += " + number(geometry_.step() * walk.unroll);
  walk.cascaded = {sums.begin(), sums.end()};
  if (sums.empty()) {
    text_.directive("#pragma unroll 1");
    text_.open("for (" + type_ + " at = begin + " + own + "; at < end; " + next + ")");
  } else {
    const std::string length = number(geometry_.cascade(parts) * geometry_.step());
    text_.directive("#pragma unroll 1");
    text_.open("for (" + type_ + " at = begin + " + own + "; at < end;)");
    text_.line("const " + type_ + " stop = end - at > " + length + " ? at + " + length + " : end;");
    for (const std::int32_t id : sums) emitter.declare_partial(text_, id, accumulators());
    text_.directive("#pragma unroll 1");
    text_.open("for (; at < stop; " + next + ")");
  }
  emitter.emit(text_, stages_[s].element, walk, {});
  text_.close();
  if (sums.empty()) return;
  for (const std::int32_t id : sums) emitter.add_partial(text_, id, accumulators());
  text_.close();
}

/// The elements of a row before and after its whole vectors, one a lane.
Walk ReduceWriter::edge_walk(const Part& part) const {
  Walk walk = row_walk(true, false);
  walk.unroll = 1;
  walk.locals.push_back("const " + type_ + " j = lane < head ? " + type_ + "(lane) : tail + (lane - head);");
  walk.index.back() = "j";
  walk.guard = std::string(shape_.cluster * part.splits > 1 ? "part == 0 && " : "") + "j < " + number(body_.reduced());
  if (geometry_.ragged_rows()) walk.store_guard = "live";
  walk.position = body_.reduced() >= (std::int64_t{1} << 31) ? "int64_t(j)" : "int(j)";
  walk.ordered = false;
  return walk;
}

/// Loads of the first stage that has them leave their vectors in shared memory, and later stages find them there; what
/// was fetched is there for all.
void ReduceWriter::share_loads(Walk& walk, std::size_t s) const {
  for (const std::int32_t id : stages_[s].element) {
    if (!geometry_.shared_offsets().contains(id)) continue;
    walk.shared[id] = shared_place(id);
    const auto has = [&](const Stage& stage) {
      return std::find(stage.element.begin(), stage.element.end(), id) != stage.element.end();
    };
    const bool met = std::any_of(stages_.begin(), stages_.begin() + static_cast<std::ptrdiff_t>(s), has);
    if (shape_.keep == Keep::fetched || met) walk.recalled.insert(id);
  }
}

/// Where the vector at `j` of a load stays.
std::string ReduceWriter::shared_place(std::int32_t load) const {
  return "h" + number(load) + "[(j - begin) / " + number(shape_.vector) + "]";
}

/// The thread's part of joining the results that the splits left in scratch.
void ReduceWriter::write_partial_sums(WalkEmitter& emitter, std::int32_t reduce) {
  const std::string name = WalkEmitter::accumulator_name(reduce),
                    scratch = "s" + number(static_cast<std::int64_t>(scratch_index(reduce)));
  emitter.declare_accumulator(text_, reduce, shape_.columns ? shape_.vector : 1);
  const std::string from = shape_.columns ? "group" : "lane",
                    step = number(shape_.columns ? shape_.groups : shape_.lanes);
  text_.line("const auto merge" + number(reduce) + " = " + emitter.join(reduce) + ";");
  text_.directive("#pragma unroll 8");
  text_.open("for (int q = " + from + "; q < " + number(shape_.splits) + "; q += " + step + ")");
  if (shape_.columns) text_.open_unrolled("e", shape_.vector);
  const std::string e = shape_.columns ? "e" : "0";
  text_.line(name + "[" + e + "] = merge" + number(reduce) + "(" + name + "[" + e + "], " + scratch + "[" +
             (wide_ ? "int64_t(q)" : "q") + " * " + number(body_.kept()) + " + row" + (shape_.columns ? " + e" : "") +
             "]);");
  if (shape_.columns) text_.close();
  text_.close();
}

/// Joins the accumulators of the threads that share a row; all of them get the results. One meeting serves all.
void ReduceWriter::write_joins(WalkEmitter& emitter, const Stage& stage, std::int64_t cluster) {
  const auto r = [](std::int32_t reduce) { return WalkEmitter::accumulator_name(reduce); };
  const auto joined = [&](std::int32_t reduce) { return "join" + number(reduce); };
  const std::string shape = "<" + number(shape_.lanes / 32) + ", " + number(cluster) + ">(";
  const bool meet = !shape_.columns && geometry_.joins_in_shared(cluster);
  for (const std::int32_t reduce : stage.reduces) {
    text_.line("const auto " + joined(reduce) + " = " + emitter.join(reduce) + ";");
    if (shape_.columns) {
      if (shape_.groups > 1)
        text_.line("ca::reduce_block_columns<" + number(shape_.groups) + ", " + number(shape_.lanes) + ">(" +
                   r(reduce) + ", " + slots(reduce) + ", " + joined(reduce) + ");");
      continue;
    }
    text_.line("ca::join_vector(" + r(reduce) + ", " + joined(reduce) + ");");
    if (meet)
      text_.line("ca::post" + shape + r(reduce) + "[0], " + slots(reduce) + ", group, " + joined(reduce) + ");");
    else
      text_.line(r(reduce) + "[0] = ca::reduce_lanes<" + number(shape_.lanes) + ">(" + r(reduce) + "[0], " +
                 joined(reduce) + ");");
  }
  if (!meet || stage.reduces.empty()) return;
  text_.line("ca::meet<" + number(cluster) + ">();");
  for (const std::int32_t reduce : stage.reduces)
    text_.line(r(reduce) + "[0] = ca::collect" + shape + emitter.accumulator_start(reduce) + ", " + slots(reduce) +
               ", group, " + joined(reduce) + ");");
}

void ReduceWriter::write_partials(std::int32_t reduce) {
  const std::string name = WalkEmitter::accumulator_name(reduce);
  const std::string to = "s" + number(static_cast<std::int64_t>(scratch_index(reduce))) + "[" + type_ + "(part) * " +
                         number(body_.kept()) + " + row";
  text_.open(std::string("if (") + (shape_.columns ? "group == 0" : "lane == 0") +
             (geometry_.ragged_rows() ? " && live)" : ")"));
  if (shape_.columns) text_.open_unrolled("e", shape_.vector);
  text_.line(to + (shape_.columns ? " + e] = " + name + "[e];" : "] = " + name + "[0];"));
  if (shape_.columns) text_.close();
  text_.close();
}

void ReduceWriter::write_result(WalkEmitter& emitter, std::int32_t reduce) {
  const std::string accumulator = WalkEmitter::accumulator_name(reduce), value = "v" + number(reduce),
                    type = ctype(body_.insts[static_cast<std::size_t>(reduce)].dtype);
  if (!shape_.columns) {
    text_.line("const " + type + " " + value + " = " + emitter.finish(reduce, accumulator + "[0]") + ";");
    emitter.set_name(reduce, value);
    return;
  }
  text_.line(type + " " + value + "[" + number(shape_.vector) + "];");
  text_.open_unrolled("e", shape_.vector);
  text_.line(value + "[e] = " + emitter.finish(reduce, accumulator + "[e]") + ";");
  text_.close();
  emitter.set_name(reduce, value + "[e]");
}

}  // namespace

Outcome<Source> write_reduction(const Body& body, const ReduceShape& shape, const Target& target,
                                const std::string& name) {
  if (body.kept() == 0) return nothing_to_do();
  if (auto checked = check_shape(body, shape, target); !checked) return checked.rejection();
  return ReduceWriter(body, shape, target, name).write();
}

}  // namespace cudaagent::codegen::cuda
