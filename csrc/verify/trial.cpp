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
  for_each_run(
      a.type, 0, a.type.numel(), [&](std::int64_t, std::int64_t offset, std::int64_t length, std::int64_t step) {
        if (step == size) {
          same = same && std::memcmp(a.data + offset, b.data + offset, static_cast<std::size_t>(length * size)) == 0;
        } else {
          for (std::int64_t i = 0; i < length && same; ++i) {
            same = std::memcmp(a.data + offset + i * step, b.data + offset + i * step,
                               static_cast<std::size_t>(size)) == 0;
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
      bed_(claim, memory, host),
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
  verdict.reason = !mistrust_.empty() ? mistrust_
                   : repeatable_      ? ""
                                      : "two runs on the same inputs differ in their last bits";
  return verdict;
}

FamilyResult Trial::try_family(Family family) {
  Round round{family, {}, {}, {}, {}};
  FamilyResult& result = round.result;
  result.family = family_name(family);
  make_answers(round);
  std::vector<Elements> images;
  for (const Tensor& input : round.inputs) images.push_back(yardstick_.elements(input));

  bed_.lay_out(seed_ + static_cast<std::uint64_t>(family), images);
  result.failure = run_once(poisons[0]);
  if (!result.failure.empty()) return result;
  save_outputs(round);
  result.failure = run_once(poisons[1]);
  for (std::size_t o = 0; o < round.answers.size() && result.failure.empty(); ++o) judge_output(o, round);
  return result;
}

/// Integers are drawn from the widest range in which eager raises no error (a division by zero, an index out of range).
void Trial::make_answers(Round& round) {
  while (true) {
    round.inputs = make_inputs({round.family, seed_ + 0x100 * static_cast<std::uint64_t>(round.family), integers_});
    try {
      round.answers = yardstick_.answer(round.inputs);
      return;
    } catch (const std::exception&) {
      const bool has_integers =
          std::any_of(claim_.truth.inputs.begin(), claim_.truth.inputs.end(),
                      [&](const auto& input) { return is_integral(claim_.truth.type(input.value).dtype); });
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
    if (type.span() != type.numel()) {
      std::memset(memory.data, poisons[0], static_cast<std::size_t>(type.span() * dtype_size(type.dtype)));
    }
    Draw own = draw;
    own.seed = random_bits(draw.seed, static_cast<std::int64_t>(k));
    fill_input(memory, claim_.truth.values.at(static_cast<std::size_t>(claim_.truth.inputs[k].value)), own, host_);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

/// Empty when the kernels ran and touched nothing but their outputs.
std::string Trial::run_once(unsigned char poison) {
  bed_.poison(poison);
  const std::string error = child_.ask({{"do", "run"}, {"bytes", bed_.bytes()}, {"offsets", bed_.launch_offsets()}},
                                       options_.verify_timeout_s);
  if (!error.empty()) {
    child_is_well_ = false;
    return "the kernel " + error;
  }
  return bed_.damage();
}

void Trial::save_outputs(Round& round) const {
  for (const std::int32_t output : claim_.outputs) {
    const Elements memory = bed_.tensor(output);
    round.first_run.emplace_back(memory.data, memory.data + memory.type.span() * dtype_size(memory.type.dtype));
  }
}

void Trial::judge_output(std::size_t output, Round& round) {
  const Elements second = bed_.tensor(claim_.outputs[output]);
  const Elements first{round.first_run[output].data(), second.type};
  const auto refuse = [&](const std::string& why) {
    round.result.failure = (claim_.outputs.size() > 1 ? "output " + std::to_string(output) + ": " : "") + why;
  };
  if (const std::int64_t index = first_unwritten(first, second, host_); index >= 0) {
    return refuse("element " + std::to_string(index) + " was never written, or made of memory nobody wrote");
  }
  const Comparison found = compare_output(second, output, round);
  if (!found.failure.empty()) return refuse(found.failure);
  if (same_bytes(first, second)) return;

  repeatable_ = false;
  const Comparison before = compare_output(first, output, round);
  if (!before.failure.empty()) return refuse("in one of two runs, " + before.failure);
  if (moved(before.kernel, found.kernel, floor_error(second.type.dtype, options_.precision, multiplies_matrices_))) {
    mistrust_ = "two runs on the same inputs differ, and so do their errors";
  }
}

Comparison Trial::compare_output(const Elements& memory, std::size_t output, Round& round) {
  const double floor = floor_error(memory.type.dtype, options_.precision, multiplies_matrices_);
  const auto comparison = [&] {
    return compare(memory, round.answers[output], yardstick_, floor, rows_of(round.family));
  };
  Comparison found = comparison();
  // Small integers lie on steps, where a perturbation says nothing.
  const bool may_cancel = is_float(memory.type.dtype) && round.family != Family::integers;
  if (!found.failure.empty() && may_cancel && round.answers[output].perturbed.empty()) {
    yardstick_.add_perturbed(round.answers, round.inputs, seed_);
    found = comparison();
    if (!found.failure.empty()) {
      yardstick_.add_nudged(round.answers, round.inputs, seed_);
      found = comparison();
    }
  }
  keep_worst(round.result, found);
  return found;
}

}  // namespace cudaagent::verify
