#include "codegen/host_reduce.h"

#include <algorithm>

#include "codegen/host_accumulator.h"

namespace cudaagent::codegen {

namespace {

using schedule::Body;
using schedule::Inst;
using schedule::InstKind;

std::string number(std::int64_t value) { return std::to_string(value) + "ll"; }

class Generator {
 public:
  Generator(const HostReduction& plan, std::string name)
      : plan_(plan),
        body_(plan.body),
        out_(plan.body, plan.vector_axis, plan.lanes, plan.columns),
        name_(std::move(name)),
        stages_(stages(plan.body)) {
    choose_remembered();
    for (std::size_t i = 0; i < body_.insts.size(); ++i) {
      const auto id = static_cast<std::int32_t>(i);
      // Of a tile's row values there is one vector per column block.
      if (plan_.columns && out_.varies(id) && (!body_.insts[i].element || body_.insts[i].kind == InstKind::reduce))
        out_.rename(id, "r" + std::to_string(i) + "[c]");
    }
  }

  Source run() {
    const bool split = plan_.chunks > 1;
    if (split) reserve_scratch();
    if (!split) {
      write_kernel(0, stages_.size());
    } else {
      for (std::size_t s = 0; s < stages_.size(); ++s) write_kernel(s, s + 1);
    }
    source_.language = Language::host;
    source_.text = out_.source();
    return source_;
  }

 private:
  /// Values worth a place in memory: what a later stage uses of an earlier one's, where computing it anew takes an
  /// exponential or more, for rows that are one run of lanes and short enough for the nearest caches.
  void choose_remembered() {
    constexpr std::int64_t most_bytes = 64 << 10;
    constexpr int worth_a_place = 8;  // an exponential
    if (plan_.columns || plan_.chunks > 1 || plan_.lanes == 1 || !plan_.reduced_loops().empty()) return;
    std::int64_t bytes = 0;
    const std::vector<PersistentStage> plan = persistent_stages(body_);
    for (std::size_t s = 0; s < plan.size(); ++s)
      for (const std::int32_t id : plan[s].kept) {
        const Inst& inst = body_.insts[static_cast<std::size_t>(id)];
        const std::int64_t size = body_.reduced() * dtype_size(inst.dtype);
        const bool plain = inst.dtype == DType::f32 || inst.dtype == DType::f64;
        if (inst.kind != InstKind::map || !plain || !out_.varies(id) || bytes + size > most_bytes) continue;
        if (cost_of_value(body_, id) < worth_a_place) continue;
        remembered_[id] = s;
        bytes += size;
      }
  }

  void reserve_scratch() {
    for (const Stage& stage : stages_) {
      for (const std::int32_t reduce : stage.reduces) {
        const HostAccumulator acc = host_accumulator(body_, reduce);
        source_.scratch.push_back({plan_.chunks * body_.kept() * dtype_size(acc.value), false});
        if (acc.argument) source_.scratch.push_back({plan_.chunks * body_.kept() * dtype_size(acc.index), false});
      }
    }
  }

  /// One kernel: stages [from, to) in full, those before `from` from their partials.
  void write_kernel(std::size_t from, std::size_t to) {
    const bool split = plan_.chunks > 1;
    chunks_ = split && !stages_[from].element.empty() ? plan_.chunks : 1;
    Launch launch;
    launch.kernel = source_.launches.empty() ? name_ : name_ + "_" + std::to_string(source_.launches.size() + 1);
    launch.args = buffer_args(body_);
    out_.open_kernel(launch.kernel);
    bind_scratch(launch);
    for (const auto& [id, stage] : remembered_)
      out_.line("alignas(64) " + ctype(body_.insts[static_cast<std::size_t>(id)].dtype) + " m" + std::to_string(id) +
                "[" + number(body_.reduced()) + "];");
    if (body_.kept() > 0) {
      out_.open("for (int64_t it = begin; it < end; ++it)");
      write_indices();
      for (std::size_t s = 0; s < from; ++s) {
        write_row(s, false);
        join_partials(s);
      }
      for (std::size_t s = from; s < to; ++s) {
        write_row(s, true);
        if (!stages_[s].element.empty()) plan_.columns ? write_columns(s) : write_rows(s);
        if (split)
          write_partials(s);
        else
          write_results(s);
      }
      out_.close();
      launch.count = plan_.tasks() * chunks_;
      const std::int64_t task = body_.reduced() * (plan_.columns ? plan_.tile : 1) / chunks_;
      launch.grain = grain_for(task * static_cast<std::int64_t>(to - from));
    }
    out_.close();
    source_.launches.push_back(std::move(launch));
  }

  void bind_scratch(Launch& launch) {
    std::int32_t next = 0;
    for (const Stage& stage : stages_) {
      for (const std::int32_t reduce : stage.reduces) {
        const HostAccumulator acc = host_accumulator(body_, reduce);
        const auto bind = [&](const char* prefix, DType dtype) {
          if (next >= static_cast<std::int32_t>(source_.scratch.size())) return;
          out_.line(ctype(dtype) + "* __restrict const " + acc.name(prefix) + " = static_cast<" + ctype(dtype) +
                    "*>(args[" + std::to_string(launch.args.size()) + "]);");
          launch.args.push_back({KernelArg::Kind::scratch, next++});
        };
        bind("s", acc.value);
        if (acc.argument) bind("q", acc.index);
      }
    }
  }

  void write_indices() {
    if (chunks_ > 1) {
      const std::int64_t extent = body_.axes[plan_.chunk_axis].extent;
      out_.line("const int64_t chunk = it % " + number(chunks_) + ";");
      out_.line("const int64_t first = chunk * " + number(plan_.chunk_length) + ";");
      out_.line("const int64_t last = ca::least(first + " + number(plan_.chunk_length) + ", " + number(extent) + ");");
    } else {
      out_.line("constexpr int64_t chunk = 0;");
    }
    const std::int64_t tiles = plan_.tiles();
    out_.line("const int64_t outer = it / " + number(chunks_ * tiles) + ";");
    out_.split_index(plan_.outer_kept(), "outer");
    if (!plan_.columns) return;
    const std::int64_t extent = body_.axes[plan_.vector_axis].extent;
    out_.line("const int64_t low = it / " + number(chunks_) + " % " + number(tiles) + " * " + number(plan_.tile) + ";");
    out_.line("const int64_t vectors = (ca::least(" + number(plan_.tile) + ", " + number(extent) + " - low) + " +
              std::to_string(plan_.lanes - 1) + ") / " + std::to_string(plan_.lanes) + ";");
  }

  /// Opens the loop over a tile's column blocks. The last block overlaps its neighbour and computes the same again.
  void open_columns() {
    out_.open("for (int64_t c = 0; c < vectors; ++c)");
    out_.line("const int64_t " + HostWriter::index(plan_.vector_axis) + " = ca::least(low + c * " +
              std::to_string(plan_.lanes) + ", " + number(body_.axes[plan_.vector_axis].extent - plan_.lanes) + ");");
  }

  void declare_column_array(std::int32_t inst) {
    out_.line(out_.type(body_.insts[static_cast<std::size_t>(inst)].dtype, true) + " r" + std::to_string(inst) + "[" +
              std::to_string(plan_.vectors()) + "];");
  }

  void write_row(std::size_t s, bool with_stores) {
    const auto& insts = stages_[s].row;
    const auto write = [&](bool vectors) {
      for (const std::int32_t id : insts) {
        if (out_.varies(id) != vectors) continue;
        const bool store = body_.insts[static_cast<std::size_t>(id)].kind == InstKind::store;
        if (store) {
          if (!with_stores) continue;
          if (chunks_ > 1) out_.open("if (chunk == 0)");
          out_.store(id);
          if (chunks_ > 1) out_.close();
        } else if (vectors) {
          out_.line("r" + std::to_string(id) + "[c] = " + out_.value(id) + ";");
        } else {
          out_.define(id);
        }
      }
    };
    // Rows have scalars only here: nothing of row level varies along a reduced axis.
    write(false);
    if (std::none_of(insts.begin(), insts.end(), [&](std::int32_t id) { return out_.varies(id); })) return;
    for (const std::int32_t id : insts)
      if (out_.varies(id) && body_.insts[static_cast<std::size_t>(id)].kind != InstKind::store)
        declare_column_array(id);
    open_columns();
    write(true);
    out_.close();
  }

  std::vector<HostAccumulator> accumulators(std::size_t s) const {
    std::vector<HostAccumulator> result;
    for (const std::int32_t reduce : stages_[s].reduces) result.push_back(host_accumulator(body_, reduce));
    return result;
  }

  /// The element's place in row-major order of the reduced axes, in the accumulator's index type.
  std::string position(const HostAccumulator& acc) const {
    schedule::Access place;
    place.strides.assign(body_.axes.size(), 0);
    std::int64_t step = 1;
    for (std::size_t a = body_.axes.size(); a-- > kept_axes(body_);) {
      place.strides[a] = step;
      step *= body_.axes[a].extent;
    }
    const std::string type = ctype(acc.index), at = type + "(" + out_.address(place) + ")";
    if (plan_.lanes == 1) return at;
    if (plan_.columns) return "ca::vec<" + type + ">(" + at + ")";
    return "ca::iota<" + type + ">(" + at + ", " + std::to_string(place.strides[plan_.vector_axis]) + ")";
  }

  /// Opens and writes the lambda `step` over one vector of elements at index `axis`.
  void write_step(std::size_t s, std::size_t axis) {
    std::string signature = "const auto step = [&](int64_t " + HostWriter::index(axis);
    if (!plan_.columns) signature += ", auto kept";
    for (const HostAccumulator& acc : accumulators(s)) signature += ", auto& " + acc.name("a");
    out_.open(signature + ") __attribute__((always_inline))");
    const Recall plan = recall(body_, stages_, s, remembered_);
    for (const std::int32_t id : plan.insts) {
      const Inst& inst = body_.insts[static_cast<std::size_t>(id)];
      const std::string place = "m" + std::to_string(id) + " + " + HostWriter::index(axis);
      if (plan.recalled.contains(id)) {
        out_.line("const auto " + out_.operand(id, true) + " = ca::load(" + place + ");");
      } else if (inst.kind == InstKind::store) {
        out_.store(id);
      } else if (inst.kind == InstKind::reduce) {
        const HostAccumulator acc = host_accumulator(body_, id);
        out_.line(acc.take(out_, plan_.columns ? "ca::all_lanes{}" : "kept", acc.argument ? position(acc) : ""));
      } else {
        out_.define(id);
        if (remembered_.contains(id)) out_.line("ca::store(" + place + ", " + out_.operand(id, true) + ");");
      }
    }
    out_.close(";");
  }

  void open_reduced_loop(std::size_t a) {
    const std::string i = HostWriter::index(a);
    const auto [low, high] = range(a);
    out_.open("for (int64_t " + i + " = " + low + "; " + i + " < " + high + "; ++" + i + ")");
  }

  std::pair<std::string, std::string> range(std::size_t a) const {
    if (chunks_ > 1 && a == plan_.chunk_axis) return {"first", "last"};
    return {"0", number(body_.axes[a].extent)};
  }

  void fold(std::size_t s, const char* suffix) {
    for (const HostAccumulator& acc : accumulators(s)) out_.line(acc.name("c") + suffix + ".fold();");
  }

  void write_rows(std::size_t s);
  void write_row_vectors(std::size_t s, bool folds);
  void write_columns(std::size_t s);
  void write_results(std::size_t s);
  void write_partials(std::size_t s);
  void join_partials(std::size_t s);
  std::string partial_at(const std::string& chunk) const;

  const HostReduction& plan_;
  const Body& body_;
  HostWriter out_;
  std::string name_;
  std::vector<Stage> stages_;
  Source source_;
  std::map<std::int32_t, std::size_t> remembered_;  ///< values a row's stages share, by the stage that computes them
  std::int64_t chunks_ = 1;                         ///< of the kernel being written
};

/// Steps between folds: chains of additions stay this long.
constexpr std::int64_t row_steps = 64, column_steps = 64, unroll = 8;

void Generator::write_rows(std::size_t s) {
  for (const HostAccumulator& acc : accumulators(s))
    out_.line("ca::cascade<" + acc.type(out_, true) + ", 4> " + acc.name("c") + ";");
  const std::vector<std::size_t> loops = plan_.reduced_loops();
  const bool reduces = !stages_[s].reduces.empty();
  const std::int64_t extent = body_.axes[plan_.vector_axis].extent;
  const bool blocked = reduces && extent > row_steps * plan_.lanes;
  const bool counted = reduces && !blocked && body_.reduced() > row_steps * plan_.lanes;
  out_.open("");
  if (counted) out_.line("int64_t since = 0;");
  for (const std::size_t a : loops) open_reduced_loop(a);
  write_step(s, plan_.vector_axis);
  write_row_vectors(s, blocked);
  if (counted) {
    out_.open("if ((since += " + number(extent) + ") >= " + number(row_steps * plan_.lanes) + ")");
    fold(s, "");
    out_.line("since = 0;");
    out_.close();
  }
  for (std::size_t k = 0; k < loops.size() + 1; ++k) out_.close();
}

/// The loop over the axis the lanes run along, four accumulators in turn; the elements left over are taken in a vector
/// that overlaps the one before, with the lanes already counted masked out.
void Generator::write_row_vectors(std::size_t s, bool folds) {
  const std::vector<HostAccumulator> accs = accumulators(s);
  const std::int64_t lanes = plan_.lanes, extent = body_.axes[plan_.vector_axis].extent, rest = extent % lanes;
  const auto call = [&](const std::string& at, const std::string& kept, int which) {
    std::string text = "step(" + at + ", " + kept;
    for (const HostAccumulator& acc : accs) text += ", " + acc.name("c") + ".first[" + std::to_string(which) + "]";
    out_.line(text + ");");
  };
  const auto [low, high] = range(plan_.vector_axis);
  const bool chunked = low == "first";
  out_.line("const int64_t whole = " +
            (chunked ? "ca::least(last, " + number(extent - rest) + ")" : number(extent - rest)) + ";");
  out_.line("int64_t i = " + low + ";");
  if (folds) {
    out_.open("while (i < whole)");
    out_.line("const int64_t stop = ca::least(whole, i + " + number(row_steps * lanes) + ");");
  } else {
    out_.line("const int64_t stop = whole;");
  }
  out_.open("for (; i + " + number(4 * lanes) + " <= stop; i += " + number(4 * lanes) + ")");
  for (int u = 0; u < 4; ++u) call("i + " + std::to_string(u * lanes), "ca::all_lanes{}", u);
  out_.close();
  out_.open("for (; i < stop; i += " + number(lanes) + ")");
  call("i", "ca::all_lanes{}", 0);
  out_.close();
  if (folds) {
    fold(s, "");
    out_.close();
  }
  if (rest == 0) return;
  if (chunked) out_.open("if (last == " + number(extent) + ")");
  call(number(extent - lanes), "ca::last_lanes<" + std::to_string(rest) + ">{}", 0);
  if (chunked) out_.close();
}

/// Reduced axes outside, column blocks inside, `unroll` rows of the innermost reduced axis at a time: reads run along
/// memory and a block's accumulators are touched once in `unroll` rows.
void Generator::write_columns(std::size_t s) {
  const std::vector<HostAccumulator> accs = accumulators(s);
  for (const HostAccumulator& acc : accs)
    out_.line("ca::cascade<" + acc.type(out_, true) + ", 1> " + acc.name("c") + "[" + std::to_string(plan_.vectors()) +
              "];");
  out_.open("");
  if (!accs.empty()) out_.line("int64_t since = 0;");
  const std::vector<std::size_t> loops = plan_.reduced_loops();
  for (std::size_t k = 0; k + 1 < loops.size(); ++k) open_reduced_loop(loops[k]);
  const auto [low, high] = range(loops.back());
  const std::string by = std::to_string(unroll);
  out_.open("for (int64_t r = " + low + "; r < " + high + "; r += " + by + ")");
  open_columns();
  write_step(s, loops.back());
  std::string call;
  for (const HostAccumulator& acc : accs) {
    out_.line(acc.type(out_, true) + " " + acc.name("a") + ";");
    call += ", " + acc.name("a");
  }
  out_.open("if (r + " + by + " <= " + high + ")");
  for (int u = 0; u < unroll; ++u) out_.line("step(r + " + std::to_string(u) + call + ");");
  out_.close(" else {");
  out_.line("  for (int64_t k = r; k < " + high + "; ++k) step(k" + call + ");");
  out_.line("}");
  for (const HostAccumulator& acc : accs) out_.line(acc.name("c") + "[c].first[0].join(" + acc.name("a") + ");");
  out_.close();
  if (!accs.empty()) {
    out_.open("if ((since += " + by + ") >= " + number(column_steps) + ")");
    out_.open("for (int64_t c = 0; c < vectors; ++c)");
    fold(s, "[c]");
    out_.close();
    out_.line("since = 0;");
    out_.close();
  }
  for (std::size_t k = 0; k < loops.size() + 1; ++k) out_.close();
}

void Generator::write_results(std::size_t s) {
  const std::vector<HostAccumulator> accs = accumulators(s);
  if (accs.empty()) return;
  if (!plan_.columns) {
    const std::string across = plan_.lanes > 1 ? ".across()" : "";
    for (const HostAccumulator& acc : accs) {
      const DType dtype = body_.insts[static_cast<std::size_t>(acc.inst)].dtype;
      out_.line("const " + ctype(dtype) + " " + acc.name("v") + " = " +
                acc.result(out_, acc.name("c") + ".total()" + across, false) + ";");
    }
    return;
  }
  for (const HostAccumulator& acc : accs) declare_column_array(acc.inst);
  out_.open("for (int64_t c = 0; c < vectors; ++c)");
  for (const HostAccumulator& acc : accs)
    out_.line(acc.name("r") + "[c] = " + acc.result(out_, acc.name("c") + "[c].total()", true) + ";");
  out_.close();
}

/// Where this task's partial lies: chunks outermost, then the kept places, the lanes' axis last.
std::string Generator::partial_at(const std::string& chunk) const {
  std::string place = plan_.columns ? "outer * " + number(body_.axes[plan_.vector_axis].extent) + " + " +
                                          HostWriter::index(plan_.vector_axis)
                                    : "outer";
  return chunk + " * " + number(body_.kept()) + " + " + place;
}

void Generator::write_partials(std::size_t s) {
  const std::vector<HostAccumulator> accs = accumulators(s);
  if (accs.empty()) return;
  if (plan_.columns) open_columns();
  for (const HostAccumulator& acc : accs) {
    const std::string total = acc.name("c") + (plan_.columns ? "[c]" : "") + ".total()" +
                              (plan_.columns || plan_.lanes == 1 ? "" : ".across()");
    const auto put = [&](const char* prefix, const char* member) {
      const std::string at = acc.name(prefix) + " + " + partial_at("chunk");
      if (plan_.columns)
        out_.line("ca::store(" + at + ", " + acc.name("t") + "." + member + ");");
      else
        out_.line("*(" + at + ") = " + acc.name("t") + "." + member + ";");
    };
    out_.line("const auto " + acc.name("t") + " = " + total + ";");
    put("s", "value");
    if (acc.argument) put("q", "index");
  }
  if (plan_.columns) out_.close();
}

void Generator::join_partials(std::size_t s) {
  const std::vector<HostAccumulator> accs = accumulators(s);
  if (accs.empty()) return;
  if (plan_.columns) {
    for (const HostAccumulator& acc : accs) declare_column_array(acc.inst);
    open_columns();
  }
  for (const HostAccumulator& acc : accs) {
    const auto get = [&](const char* prefix) {
      const std::string at = acc.name(prefix) + " + " + partial_at("k");
      return plan_.columns ? "ca::load<" + ctype(prefix[0] == 's' ? acc.value : acc.index) + ">(" + at + ")"
                           : "*(" + at + ")";
    };
    out_.line("ca::blocks<" + acc.type(out_, plan_.columns) + "> " + acc.name("a") + ";");
    out_.line("for (int64_t k = 0; k < " + number(plan_.chunks) + "; ++k) " + acc.name("a") + ".join({" + get("s") +
              (acc.argument ? ", " + get("q") : "") + "});");
    const DType dtype = body_.insts[static_cast<std::size_t>(acc.inst)].dtype;
    const std::string target = plan_.columns ? acc.name("r") + "[c]" : "const " + ctype(dtype) + " " + acc.name("v");
    out_.line(target + " = " + acc.result(out_, acc.name("a") + ".total()", plan_.columns) + ";");
  }
  if (plan_.columns) out_.close();
}

}  // namespace

Source generate_reduction(const HostReduction& plan, const std::string& name) { return Generator(plan, name).run(); }

}  // namespace cudaagent::codegen
