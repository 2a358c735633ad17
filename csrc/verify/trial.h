// One claim before the judge: its kernels run on every family, twice, and each run is checked.
#pragma once

#include <string>
#include <vector>

#include "verify/child.h"
#include "verify/contract.h"
#include "verify/families.h"
#include "verify/test_bed.h"

namespace cudaagent::verify {

class Trial {
 public:
  /// `child` has loaded the claim's kernels.
  Trial(const Claim& claim, const Device& device, const Options& options, TensorHost& host, SharedMemory& memory,
        Child& child, std::uint64_t seed);

  /// Stops at the first family that fails. Throws what the host throws when the yardstick cannot be made.
  Verdict run();
  /// True when the child answered every request and can take the next claim.
  bool child_is_well() const { return child_is_well_; }

 private:
  /// One family: what goes in, what should come out, and what the first run left in the outputs.
  struct Round {
    Family family;
    std::vector<Tensor> inputs;
    std::vector<Answer> answers;
    std::vector<std::vector<std::byte>> first_run;
    FamilyResult result;
  };

  FamilyResult try_family(Family family);
  void make_answers(Round& round);
  std::vector<Tensor> make_inputs(const Draw& draw) const;
  std::string run_once(unsigned char poison);
  void save_outputs(Round& round) const;
  void judge_output(std::size_t output, Round& round);
  Comparison compare_output(const Elements& memory, std::size_t output, Round& round);

  const Claim& claim_;
  const Options& options_;
  TensorHost& host_;
  Child& child_;
  Yardstick yardstick_;
  TestBed bed_;
  std::uint64_t seed_;
  IntegerRange integers_;
  bool multiplies_matrices_;
  bool child_is_well_ = true;
  bool repeatable_ = true;
  std::string mistrust_;
};

}  // namespace cudaagent::verify
