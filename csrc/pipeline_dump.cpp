#include "pipeline_dump.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace cudaagent {

namespace {

std::string document(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

Dump::Dump(const ir::Graph& captured, const Options& options) : folder_(options.dump_dir) {
  if (folder_.empty()) return;
  const std::string text = document(captured);
  id_ = sha256(text).substr(0, 12);
  write("graph_" + id_ + ".json", text);
}

void Dump::rewritten(const ir::Graph& graph) const {
  if (!folder_.empty()) write("rewritten_" + id_ + ".json", document(graph));
}

void Dump::sources(const Kernels& kernels) const {
  if (folder_.empty()) return;
  for (const std::shared_ptr<Built>& built : kernels) {
    if (built->source.launches.empty()) continue;
    const char* extension = built->source.language == codegen::Language::cuda ? ".cu" : ".cpp";
    write(built->source.launches[0].kernel + extension, built->source.text);
  }
}

void Dump::report(const Json& report) const {
  if (!folder_.empty()) write("report_" + id_ + ".json", document(report));
}

// A dump is for whoever looks into a failure; that it cannot be written is no reason to run without kernels.
void Dump::write(const std::string& name, const std::string& text) const {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  std::ofstream file(std::filesystem::path(folder_) / name, std::ios::binary);
  file << text;
  file.close();
  if (file) return;
  log(LogLevel::error, "cannot write " + name + " into the dump folder " + folder_ +
                           "; free some space or set TORCH_CUDAAGENT_DUMP_DIR to a folder you may write");
}

}  // namespace cudaagent
