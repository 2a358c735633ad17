// TORCH_CUDAAGENT_DUMP_DIR: what a walk makes, written as it comes, so that a crash leaves all that came before it.
#pragma once

#include <string>

#include "pipeline_kernels.h"

namespace cudaagent {

/// Files: graph_<id>.json (captured; what `cudaagent minify` takes), rewritten_<id>.json (of the last round),
/// <kernel>.cpp or .cu, report_<id>.json. Nothing without a folder.
class Dump {
 public:
  Dump(const ir::Graph& captured, const Options& options);

  void rewritten(const ir::Graph& graph) const;
  void sources(const Kernels& kernels) const;
  void report(const Json& report) const;

 private:
  void write(const std::string& name, const std::string& text) const;

  std::string folder_, id_;
};

}  // namespace cudaagent
