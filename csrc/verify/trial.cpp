#include "verify/trial.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "verify/random.h"
#include "verify/recast.h"

namespace cudaagent::verify {

namespace {

bool same_bytes(const Elements& a, const Elements& b) {
  const std::int64_t size = dtype_size(a.type.dtype);
  bool same = true;
  for_each_run(a.type, 0, a.type.numel(), [&](std::int64_t, std::int64_t offset, std::int64_t length, std::int64_t step) {
    if (step == size) {
      same = same && std::memcmp(a.data + offset, b.data + offset, static_cast<std::size_t>(length * size)) == 0;
    } else {
      for (std::int64_t i = 0; i < length && same; ++i) {
        same = std::memcmp(a.data + offset + i * step, b.data + offset + i * step, static_cast<std::size_t>(size)) == 0;
      }
    }
  });
  return same;
}

Rows rows_of(Family family) {
  const bool graded = family == Family::graded_rows || family == Family::graded_columns || family == Family::outlier;
  return graded ? Rows::graded : Rows::alike;
}

void keep_worst(FamilyResult& result, const Comparison& found) {
  result.rms = std::max(result.rms, found.kernel.rms);
  result.max = std::max(result.max, found.kernel.max);
  result.row = std::max(result.row, found.kernel.row);
  result.eager_rms = std::max(result.eager_rms, found.eager.rms);
  result.eager_max = std::max(result.eager_max, found.eager.max);
  result.eager_row = std::max(result.eager_row, found.eager.row);
}

bool moved(const Errors& a, const Errors& b, double floor) {
  const auto differ = [&](double x, double y) { return std::max(x, y) > 2 * std::min(x, y) && std::max(x, y) > floor; };
  return differ(a.rms, b.rms) || differ(a.row, b.row);
}

}  // namespace

Trial::Trial(const Claim& claim, const Device& device, const Options& options, TensorHost& host, SharedMemory& memory,
             Child& child, std::uint64_t seed)
    : claim_(claim),
      options_(options),
      host_(host),
      child_(child),
      yardstick_(claim.truth, options.precision, device, host),
      bed_(claim, memory),
      seed_(seed),
      integers_(widest_range(claim.truth)),
      multiplies_matrices_(multiplies_matrices(claim.truth)) {}

Verdict Trial::run() {
  Verdict verdict;
  for (const Family family : families_for(claim_.truth)) {
    verdict.families.push_back(try_family(family));
    const FamilyResult& result = verdict.families.back();
    if (!result.failure.empty()) {
      verdict.status = Status::failed;
      verdict.reason = result.family + " inputs: " + result.failure;
      return verdict;
    }
  }
  verdict.status = mistrust_.empty() ? Status::passed : Status::mistrusted;
  verdict.reason = !mistrust_.empty() ? mistrust_ : repeatable_ ? "" : "two runs on the same inputs differ in their last bits";
  return verdict;
}

FamilyResult Trial::try_family(Family family) {
  FamilyResult result;
  result.family = family_name(family);
  std::vector<Tensor> inputs;
  const std::vector<Answer> answers = make_answers(family, inputs);
  std::vector<Elements> images;
  for (const Tensor& input : inputs) images.push_back(yardstick_.elements(input));

  bed_.lay_out(seed_ + static_cast<std::uint64_t>(family));
  result.failure = run_once(poisons[0], images);
  if (!result.failure.empty()) return result;
  Saved saved = save_outputs();
  result.failure = run_once(poisons[1], images);
  for (std::size_t o = 0; o < answers.size() && result.failure.empty(); ++o) {
    judge_output(o, {saved[o].data(), claim_.tensors[static_cast<std::size_t>(claim_.outputs[o])]}, answers[o], rows_of(family), result);
  }
  return result;
}

/// Integers are drawn from the widest range in which eager raises no error (a division by zero, an index out of range).
std::vector<Answer> Trial::make_answers(Family family, std::vector<Tensor>& inputs) {
  while (true) {
    inputs = make_inputs({family, seed_ + 0x100 * static_cast<std::uint64_t>(family), integers_});
    try {
      return yardstick_.answer(inputs, seed_, family != Family::integers);
    } catch (const std::exception&) {
      const bool has_integers = std::any_of(claim_.truth.inputs.begin(), claim_.truth.inputs.end(), [&](const auto& input) {
        return is_integral(claim_.truth.type(input.value).dtype);
      });
      if (!has_integers || integers_ == IntegerRange::positive) throw;
      integers_ = static_cast<IntegerRange>(static_cast<int>(integers_) + 1);
    }
  }
}

std::vector<Tensor> Trial::make_inputs(const Draw& draw) const {
  std::vector<Tensor> inputs;
  for (std::size_t k = 0; k < claim_.inputs.size(); ++k) {
    TensorType type = claim_.tensors[static_cast<std::size_t>(claim_.inputs[k])];
    type.device = {};
    Tensor tensor = host_.empty(type);
    const Elements memory = yardstick_.elements(tensor);
    // Between strided elements lies NaN: who reads it shows.
    std::memset(memory.data, poisons[0], static_cast<std::size_t>(type.span() * dtype_size(type.dtype)));
    Draw own = draw;
    own.seed = random_bits(draw.seed, static_cast<std::int64_t>(k));
    fill_input(memory, claim_.truth.values.at(static_cast<std::size_t>(claim_.truth.inputs[k].value)), own);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// Empty when the kernels ran and touched nothing but their outputs.
std::string Trial::run_once(unsigned char poison, const std::vector<Elements>& inputs) {
  bed_.prepare(poison, inputs);
  const std::string error = child_.ask({{"do", "run"}, {"bytes", bed_.bytes()}, {"offsets", bed_.launch_offsets()}},
                                       options_.verify_timeout_s);
  if (!error.empty()) {
    child_is_well_ = false;
    return "the kernel " + error;
  }
  return bed_.damage();
}

Trial::Saved Trial::save_outputs() const {
  Saved saved;
  for (const std::int32_t output : claim_.outputs) {
    const Elements memory = bed_.tensor(output);
    saved.emplace_back(memory.data, memory.data + memory.type.span() * dtype_size(memory.type.dtype));
  }
  return saved;
}

void Trial::judge_output(std::size_t output, const Elements& first, const Answer& answer, Rows rows,
                         FamilyResult& result) {
  const Elements second = bed_.tensor(claim_.outputs[output]);
  const auto refuse = [&](const std::string& why) {
    result.failure = (claim_.outputs.size() > 1 ? "output " + std::to_string(output) + ": " : "") + why;
  };
  if (const std::int64_t index = first_unwritten(first, second); index >= 0) {
    return refuse("element " + std::to_string(index) + " was never written, or made of memory nobody wrote");
  }
  const double floor = floor_error(second.type.dtype, options_.precision, multiplies_matrices_);
  const Comparison found = compare(second, answer, yardstick_, floor, rows);
  keep_worst(result, found);
  if (!found.failure.empty()) return refuse(found.failure);
  if (same_bytes(first, second)) return;

  repeatable_ = false;
  const Comparison before = compare(first, answer, yardstick_, floor, rows);
  keep_worst(result, before);
  if (!before.failure.empty()) return refuse("in one of two runs, " + before.failure);
  if (moved(before.kernel, found.kernel, floor)) mistrust_ = "two runs on the same inputs differ, and so do their errors";
}

}  // namespace cudaagent::verify
