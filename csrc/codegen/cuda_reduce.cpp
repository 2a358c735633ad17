#include "codegen/cuda_reduce.h"

#include <algorithm>

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
  void write_indices(const Part& part);
  void write_row_position(const Part& part, std::int64_t row_blocks);
  void write_slots(const Part& part);
  void write_stages(const Part& part, bool aligned);
  void write_row_level(WalkEmitter& emitter, const Stage& stage, bool aligned, bool stores);
  void write_pass(WalkEmitter& emitter, const Part& part, std::size_t s, bool aligned);
  void write_partial_sums(WalkEmitter& emitter, std::int32_t reduce);
  void write_join(WalkEmitter& emitter, std::int32_t reduce, std::int64_t cluster);
  void write_partials(WalkEmitter& emitter, std::int32_t reduce);
  void write_result(WalkEmitter& emitter, std::int32_t reduce);
  Walk row_walk(bool aligned, bool stores) const;
  Walk element_walk(const Part& part, bool aligned, bool persistent) const;

  std::int64_t row_blocks() const {
    return shape_.columns ? ceil_div(body_.kept(), shape_.lanes * shape_.vector)
                          : ceil_div(body_.kept(), shape_.groups);
  }
  /// Elements of a row one block takes: whole vectors for rows.
  std::int64_t chunk(const Part& part) const {
    const std::int64_t parts = shape_.cluster * part.splits;
    return shape_.columns ? ceil_div(body_.reduced(), parts)
                          : ceil_div(body_.reduced() / shape_.vector, parts) * shape_.vector;
  }
  /// Threads a unit should hold when rows stay in registers: at 64 registers each, two or more blocks share it, so that
  /// one loads while another stores. Elements with an address of their own, and long shares, need more registers.
  std::int64_t resident_threads() const {
    const std::int64_t held =
        elements_per_thread(body_, shape_) * (shape_.columns ? shape_.vector : 1) * registers_per_element(body_);
    const bool scattered = shape_.columns || body_.axes.size() > kept_axes(body_) + 1;
    return (scattered ? 640 : 1024) / (held > 32 ? 2 : 1);
  }
  bool ragged_rows() const {
    return shape_.columns ? body_.kept() % (shape_.lanes * shape_.vector) != 0 : body_.kept() % shape_.groups != 0;
  }
  /// Positions between two groups of a thread, and between two threads.
  std::int64_t step() const { return shape_.columns ? shape_.groups : shape_.lanes * shape_.vector; }
  std::int64_t passes() const {
    return std::count_if(stages_.begin(), stages_.end(), [](const Stage& stage) { return !stage.element.empty(); });
  }
  std::int64_t accumulators() const { return shape_.vector; }
  std::size_t scratch_index(std::int32_t reduce) const {
    return static_cast<std::size_t>(std::find(reduces_.begin(), reduces_.end(), reduce) - reduces_.begin());
  }
  std::int64_t scratch_bytes(std::int32_t reduce) const;
  bool joins_in_shared(std::int64_t cluster) const {
    return shape_.columns ? shape_.groups > 1 : shape_.lanes > 32 || cluster > 1;
  }

  const Body& body_;
  const ReduceShape& shape_;
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
  kernel.blocks = row_blocks() * shape_.cluster * part.splits;
  if (shape_.persistent) kernel.blocks_per_unit = std::max<std::int64_t>(resident_threads() / kernel.threads, 1);
  WalkEmitter types(body_, wide_);
  if (shape_.splits > 1)
    for (const std::int32_t reduce : reduces_) kernel.scratch.push_back(types.accumulator_type(reduce));
  open_kernel(text_, source_, body_, kernel, target_);
  if (shape_.cluster > 1) text_.line("ca::cluster_arrive();");
  write_slots(part);
  write_indices(part);
  if (shape_.vector == 1) {
    write_stages(part, true);
  } else {
    text_.open("if (" + aligned_condition(body_, vector_axis(body_, shape_.columns)) + ")");
    write_stages(part, true);
    text_.close();
    text_.open("else");
    write_stages(part, false);
    text_.close();
  }
  text_.close();
}

/// lane, group, part; row or column with its axes' indices; begin and end of the block's share of the row.
void ReduceWriter::write_indices(const Part& part) {
  const std::int64_t parts = shape_.cluster * part.splits, share = chunk(part);
  text_.line("const int lane = threadIdx.x % " + number(shape_.lanes) + ", group = threadIdx.x / " +
             number(shape_.lanes) + ";");
  const std::string block = shape_.columns ? "blockIdx.x % " + number(row_blocks()) : "blockIdx.x / " + number(parts);
  const std::string share_of =
      shape_.columns ? "blockIdx.x / " + number(row_blocks()) : "blockIdx.x % " + number(parts);
  text_.line("const int part = " + (parts == 1 ? std::string("0") : share_of) + ";");
  const std::string kept =
      shape_.columns ? "(" + type_ + "(" + block + ") * " + number(shape_.lanes) + " + lane) * " + number(shape_.vector)
                     : type_ + "(" + block + ") * " + number(shape_.groups) + " + group";
  if (ragged_rows()) {
    text_.line("const " + type_ + " wanted = " + kept + ";");
    text_.line("const bool live = wanted < " + number(body_.kept()) + ";");
    text_.line("const " + type_ + " row = live ? wanted : 0;");
  } else {
    text_.line("const " + type_ + " row = " + kept + ";");
  }
  std::vector<std::size_t> axes(kept_axes(body_));
  for (std::size_t a = 0; a < axes.size(); ++a) axes[a] = a;
  std::vector<std::string> locals, index(body_.axes.size());
  decompose(body_, axes, "row", type_, locals, index);
  for (const std::string& local : locals) text_.line(local);
  text_.line("const " + type_ + " begin = " + type_ + "(part) * " + number(share) + ";");
  const std::string length = number(body_.reduced());
  text_.line("const " + type_ + " end = " +
             (parts == 1 ? length : "ca::min(begin + " + number(share) + ", " + type_ + "(" + length + "))") + ";");
}

/// Shared memory: one array a reduction, so that one barrier each is enough.
void ReduceWriter::write_slots(const Part& part) {
  if (!joins_in_shared(shape_.cluster)) return;
  WalkEmitter types(body_, wide_);
  for (std::size_t s = 0; s <= part.last; ++s)
    for (const std::int32_t reduce : stages_[s].reduces) {
      const std::string type = types.accumulator_type(reduce);
      const std::int64_t count = shape_.columns ? shape_.groups * shape_.lanes * shape_.vector
                                                : shape_.groups * (shape_.lanes / 32) * shape_.cluster;
      text_.line("CA_SHARED(t" + number(reduce) + ", " + number(count) + ", " +
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
      for (const std::int32_t reduce : stage.reduces) {
        write_partial_sums(emitter, reduce);
        write_join(emitter, reduce, 1);
        write_result(emitter, reduce);
      }
      continue;
    }
    if (stage.element.empty()) continue;
    for (const std::int32_t reduce : stage.reduces) emitter.declare_accumulator(text_, reduce, accumulators());
    write_pass(emitter, part, s, aligned);
    for (const std::int32_t reduce : stage.reduces) {
      if (shape_.cluster > 1 && !waited) text_.line("ca::cluster_wait();");
      waited = true;
      write_join(emitter, reduce, shape_.cluster);
      if (part.splits > 1)
        write_partials(emitter, reduce);
      else
        write_result(emitter, reduce);
    }
  }
}

Walk ReduceWriter::row_walk(bool aligned, bool stores) const {
  Walk walk;
  walk.axis = vector_axis(body_, shape_.columns);
  walk.vector = shape_.columns ? shape_.vector : 0;
  walk.aligned = aligned;
  walk.index.resize(body_.axes.size());
  std::vector<std::size_t> axes(kept_axes(body_));
  for (std::size_t a = 0; a < axes.size(); ++a) axes[a] = a;
  std::vector<std::string> declared;
  decompose(body_, axes, "row", type_, declared, walk.index);
  if (stores) {
    walk.store_guard = shape_.columns ? "group == 0" : "lane == 0";
    if (shape_.cluster * shape_.splits > 1) walk.store_guard += " && part == 0";
    if (ragged_rows()) walk.store_guard += " && live";
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

Walk ReduceWriter::element_walk(const Part& part, bool aligned, bool persistent) const {
  Walk walk = row_walk(aligned, false);
  const std::int64_t unroll = persistent ? elements_per_thread(body_, shape_) / (shape_.columns ? 1 : shape_.vector)
                              : aligned  ? shape_.unroll
                                         : 1;
  walk.unroll = unroll;
  walk.vector = shape_.vector;
  const std::string own = shape_.columns ? "group" : shape_.vector == 1 ? "lane" : "lane * " + number(shape_.vector);
  const std::string start = persistent ? "begin + " + own : "at";
  walk.locals.push_back("const " + type_ + " j = " + start + " + u * " + number(step()) + ";");
  std::vector<std::size_t> axes;
  for (std::size_t a = kept_axes(body_); a < body_.axes.size(); ++a) axes.push_back(a);
  decompose(body_, axes, "j", type_, walk.locals, walk.index);
  const std::int64_t share = chunk(part), parts = shape_.cluster * part.splits;
  if (share * parts != body_.reduced() || share % (step() * unroll) != 0) walk.guard = "j < end";
  if (ragged_rows()) walk.store_guard = "live";
  walk.position = body_.reduced() >= (std::int64_t{1} << 31) ? "int64_t(j)" : "int(j)";
  if (!shape_.columns) walk.position += " + e";
  // Weights come when they are used: waiting for them all would cost a row's worth of registers each.
  if (persistent)
    for (const Stage& stage : stages_)
      for (const std::int32_t id : stage.element) {
        const Inst& inst = body_.insts[static_cast<std::size_t>(id)];
        if (inst.kind == InstKind::load && shared_by_rows(body_, inst.access)) walk.late.insert(id);
      }
  return walk;
}

void ReduceWriter::write_pass(WalkEmitter& emitter, const Part& part, std::size_t s, bool aligned) {
  // A misaligned call is rare: it reads again each stage, with no copy of the long unrolled text.
  const bool persistent = shape_.persistent && aligned;
  const Walk walk = element_walk(part, aligned, persistent);
  if (persistent) {
    emitter.emit(text_, persistent_[s].element, walk, persistent_[s].kept);
    return;
  }
  const std::string own = shape_.columns ? "group" : "lane * " + number(shape_.vector);
  text_.directive("#pragma unroll 1");
  text_.open("for (" + type_ + " at = begin + " + own + "; at < end; at += " + number(step() * walk.unroll) + ")");
  emitter.emit(text_, stages_[s].element, walk, {});
  text_.close();
}

/// The thread's part of joining the results that the splits left in scratch.
void ReduceWriter::write_partial_sums(WalkEmitter& emitter, std::int32_t reduce) {
  const std::string name = WalkEmitter::accumulator_name(reduce),
                    scratch = "s" + number(static_cast<std::int64_t>(scratch_index(reduce)));
  emitter.declare_accumulator(text_, reduce, shape_.columns ? shape_.vector : 1);
  const std::string from = shape_.columns ? "group" : "lane",
                    step = number(shape_.columns ? shape_.groups : shape_.lanes);
  text_.line("const auto join" + number(reduce) + " = " + emitter.join(reduce) + ";");
  text_.directive("#pragma unroll 8");
  text_.open("for (int q = " + from + "; q < " + number(shape_.splits) + "; q += " + step + ")");
  if (shape_.columns) text_.open_unrolled("e", shape_.vector);
  const std::string e = shape_.columns ? "e" : "0";
  text_.line(name + "[" + e + "] = join" + number(reduce) + "(" + name + "[" + e + "], " + scratch + "[" +
             (wide_ ? "int64_t(q)" : "q") + " * " + number(body_.kept()) + " + row" + (shape_.columns ? " + e" : "") +
             "]);");
  if (shape_.columns) text_.close();
  text_.close();
}

/// Joins the accumulators of the threads that share a row; all of them get the result.
void ReduceWriter::write_join(WalkEmitter& emitter, std::int32_t reduce, std::int64_t cluster) {
  const std::string name = WalkEmitter::accumulator_name(reduce), slots = "t" + number(reduce),
                    join = emitter.join(reduce);
  if (shape_.columns) {
    if (shape_.groups > 1)
      text_.line("ca::reduce_block_columns<" + number(shape_.groups) + ", " + number(shape_.lanes) + ">(" + name +
                 ", " + slots + ", " + join + ");");
    return;
  }
  text_.line("ca::join_vector(" + name + ", " + join + ");");
  if (!joins_in_shared(cluster)) {
    text_.line(name + "[0] = ca::reduce_lanes<" + number(shape_.lanes) + ">(" + name + "[0], " + join + ");");
    return;
  }
  text_.line(name + "[0] = ca::reduce_group<" + number(shape_.lanes / 32) + ", " + number(cluster) + ">(" + name +
             "[0], " + emitter.accumulator_start(reduce) + ", " + slots + ", group, " + join + ");");
}

void ReduceWriter::write_partials(WalkEmitter&, std::int32_t reduce) {
  const std::string name = WalkEmitter::accumulator_name(reduce);
  const std::string to = "s" + number(static_cast<std::int64_t>(scratch_index(reduce))) + "[" + type_ + "(part) * " +
                         number(body_.kept()) + " + row";
  text_.open(std::string("if (") + (shape_.columns ? "group == 0" : "lane == 0") + (ragged_rows() ? " && live)" : ")"));
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

Outcome<int> check_shape(const Body& body, const ReduceShape& shape, const Target& target) {
  const auto refuse = [](const std::string& reason) { return Rejection{"codegen", reason, ""}; };
  const std::int64_t threads = shape.lanes * shape.groups;
  if (threads > 1024 || threads % 32 != 0) return refuse("a block has a multiple of 32 threads, at most 1024");
  if (shape.columns && kept_axes(body) == 0) return refuse("there are no columns");
  const bool power = (shape.lanes & (shape.lanes - 1)) == 0;
  if (!shape.columns && (shape.lanes <= 32 ? !power : shape.lanes % 32 != 0))
    return refuse("threads a row are a power of two or a multiple of 32");
  if (vector_width(body, vector_axis(body, shape.columns), false) % shape.vector != 0)
    return refuse("vector does not divide");
  if (shape.cluster > 1 && (!is_sm90(target) || shape.columns || shape.groups != 1 || shape.splits > 1 ||
                            shape.lanes < 32 || shape.cluster > 8))
    return refuse("a cluster takes one row and needs sm_90");
  if (shape.persistent && body.reduced() == 0) return refuse("an empty row has nothing to keep");
  if (shape.persistent && shape.splits > 1) return refuse("registers do not last from kernel to kernel");
  const std::int64_t held = elements_per_thread(body, shape) * (shape.columns ? shape.vector : 1);
  if (shape.persistent && held > 128) return refuse("the row does not fit in registers");
  return 0;
}

}  // namespace

Outcome<Source> write_reduction(const Body& body, const ReduceShape& shape, const Target& target,
                                const std::string& name) {
  if (body.kept() == 0) return nothing_to_do();
  if (auto checked = check_shape(body, shape, target); !checked) return checked.rejection();
  return ReduceWriter(body, shape, target, name).write();
}

}  // namespace cudaagent::codegen::cuda
