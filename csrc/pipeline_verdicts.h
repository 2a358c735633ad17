// What was found out about proof groups: verdicts, times, and which other candidates were tried.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pipeline_search.h"

namespace cudaagent {

/// What one round has made so far.
struct Round {
  const schedule::Plan& plan;
  const std::vector<ProofGroup>& groups;
  BuiltMap& built;
};

/// Survives the rounds of one optimize(): a claim is judged, timed and searched once.
class Verdicts {
 public:
  Verdicts(const Workshop& shop, cache::Store& store, CacheCounts& counts, TensorHost& host);

  /// A verdict for every group whose kernels are there: from the cache, or from the judge.
  void judge(const Round& round);
  /// Times proved groups against eager where the cache did not know their times.
  void measure(const Round& round);
  /// Tries other candidates of each proved kernel that stands alone; a faster one is proved before it takes the place.
  /// Without the option `verify` every kernel's, and none is proved.
  void search(const Round& round);

  /// Why a group with kernels may not be installed; empty when it may.
  std::string objection(const ProofGroup& group) const;
  const verify::Verdict* find(const ProofGroup& group) const;
  std::vector<Attempt> attempts(const std::string& body) const;

 private:
  cache::Key key_of(const ProofGroup& group, const BuiltMap& built) const;
  std::optional<verify::Verdict> recall(const ProofGroup& group, const BuiltMap& built) const;
  void keep(const ProofGroup& group, const BuiltMap& built, const verify::Verdict& verdict);
  void measure_group(const Round& round, const ProofGroup& group, verify::Verdict& verdict);
  void search_group(const Round& round, const ProofGroup& group);
  std::string prove_everywhere(const Round& round, const std::string& body);
  /// The groups that may be installed (proved, where that is asked) and that `seen` does not hold yet; it does
  /// afterwards.
  std::vector<const ProofGroup*> standing(const Round& round, std::set<std::string>& seen) const;

  const Workshop& shop_;
  cache::Store& store_;
  CacheCounts& counts_;
  TensorHost& host_;
  std::string proving_ground_;
  std::map<std::string, verify::Verdict> verdicts_;  ///< by claim
  std::set<std::string> measured_, searched_;
  std::map<std::string, std::vector<Attempt>> attempts_;  ///< by body
};

}  // namespace cudaagent
