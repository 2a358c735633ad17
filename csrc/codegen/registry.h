// The templates. Adding one is a file that fills a Template and a line in registry.cpp.
#pragma once

#include <string>
#include <vector>

#include "codegen/codegen.h"

namespace cudaagent::codegen {

struct Template {
  std::string name;  ///< Candidate::template_name; unique within its language
  Language language = Language::host;
  /// Whether it can carry the body at all, and how well: 0 is no; `choose` takes the highest.
  int (*suits)(const schedule::Body& body, const Target& target) = nullptr;
  /// The analytic model's parameters.
  std::map<std::string, std::int64_t> (*defaults)(const schedule::Body& body, const Target& target) = nullptr;
  /// Other parameters worth a measurement, best guess first; may repeat the defaults.
  std::vector<std::map<std::string, std::int64_t>> (*variants)(const schedule::Body& body,
                                                               const Target& target) = nullptr;
  /// `params` holds every key of the defaults; values that do not fit are a Rejection.
  Outcome<Source> (*generate)(const schedule::Body& body, const std::map<std::string, std::int64_t>& params,
                              const Target& target, const std::string& name) = nullptr;
};

const std::vector<Template>& templates();

// One function a template file.
Template host_map();
Template host_reduce_rows();
Template host_reduce_columns();
Template host_reduce_split();
Template cuda_map();
Template cuda_map_tiled();
Template cuda_reduce_rows();
Template cuda_reduce_columns();
Template cuda_reduce_split();

}  // namespace cudaagent::codegen
