// Options of one optimize() call, and the only place that reads the environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.h"

namespace cudaagent {

enum class Precision : std::uint8_t { highest, high, medium };

struct Options {
  Precision precision = Precision::highest;
  bool verify = true;          ///< false only inside tests of other rooms
  bool measure = true;         ///< time each region against eager once it is proved; slower ones stay with eager
  int search = 0;              ///< candidates to measure for each kernel beyond the analytic model's choice
  bool assume_finite = false;  ///< allow finite-only rewrites
  bool freeze = false;         ///< the user promises constant weights
  std::uint64_t seed = 0;      ///< of the verifier's inputs; 0 draws one from the system
  double verify_timeout_s = 30;
  std::string cache_dir;                  ///< the user's writable store
  std::vector<std::string> cache_layers;  ///< read-only layers below it, nearest first
  std::string judge_path;                 ///< the cudaagent-judge executable
  std::string nvrtc_path;                 ///< libnvrtc that torch carries; empty: no CUDA code generation
  std::string cxx;                        ///< host compiler, "g++"
  std::string prelude_dir;                ///< folder of csrc/codegen/templates as installed
  std::string cuda_arch;                  ///< e.g. "sm_90a"; empty: of the device in use
  std::string dump_dir;                   ///< non-empty: every room's output is written there
};

/// Options from JSON, with what is absent filled from the environment:
/// TORCH_CUDAAGENT_CACHE_DIR, TORCH_CUDAAGENT_CXX, TORCH_CUDAAGENT_DUMP_DIR, TORCH_CUDAAGENT_LOG.
/// Throws UserError on an unknown key or value.
Options options_from_json(const Json& json);
void to_json(Json& json, const Options& options);

/// The environment as the judge's child may see it: no secrets, only what a loader needs.
std::vector<std::string> child_environment();

}  // namespace cudaagent
