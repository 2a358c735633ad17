#include <nlohmann/json.hpp>

#include "codegen/codegen.h"

namespace cudaagent::codegen {

namespace {

const char* language_name(Language language) { return language == Language::cuda ? "cuda" : "host"; }

Language language_from_name(const std::string& name) {
  if (name == "cuda") return Language::cuda;
  if (name == "host") return Language::host;
  throw UserError("unknown language \"" + name + "\" in a source document: cuda or host is meant");
}

Json launch_json(const Launch& launch) {
  Json args = Json::array();
  for (const KernelArg& arg : launch.args)
    args.push_back({{"kind", arg.kind == KernelArg::Kind::buffer ? "buffer" : "scratch"}, {"index", arg.index}});
  return {{"kernel", launch.kernel},
          {"grid", launch.grid},
          {"block", launch.block},
          {"cluster", launch.cluster},
          {"shared_bytes", launch.shared_bytes},
          {"count", launch.count},
          {"grain", launch.grain},
          {"pdl", launch.pdl},
          {"args", std::move(args)}};
}

Launch launch_from_json(const Json& json) {
  Launch launch;
  json.at("kernel").get_to(launch.kernel);
  json.at("grid").get_to(launch.grid);
  json.at("block").get_to(launch.block);
  json.at("cluster").get_to(launch.cluster);
  json.at("shared_bytes").get_to(launch.shared_bytes);
  json.at("count").get_to(launch.count);
  json.at("grain").get_to(launch.grain);
  json.at("pdl").get_to(launch.pdl);
  for (const Json& arg : json.at("args")) {
    const bool buffer = arg.at("kind").get<std::string>() == "buffer";
    launch.args.push_back(
        {buffer ? KernelArg::Kind::buffer : KernelArg::Kind::scratch, arg.at("index").get<std::int32_t>()});
  }
  return launch;
}

}  // namespace

void to_json(Json& json, const Candidate& candidate) {
  json = Json{{"template", candidate.template_name}, {"params", candidate.params}};
}

void from_json(const Json& json, Candidate& candidate) {
  json.at("template").get_to(candidate.template_name);
  json.at("params").get_to(candidate.params);
}

void to_json(Json& json, const Source& source) {
  Json launches = Json::array(), scratch = Json::array();
  for (const Launch& launch : source.launches) launches.push_back(launch_json(launch));
  for (const Scratch& buffer : source.scratch) scratch.push_back({{"bytes", buffer.bytes}, {"zeroed", buffer.zeroed}});
  json = Json{{"language", language_name(source.language)},
              {"text", source.text},
              {"launches", std::move(launches)},
              {"scratch", std::move(scratch)}};
}

void from_json(const Json& json, Source& source) {
  source = {};
  source.language = language_from_name(json.at("language").get<std::string>());
  json.at("text").get_to(source.text);
  for (const Json& launch : json.at("launches")) source.launches.push_back(launch_from_json(launch));
  for (const Json& buffer : json.at("scratch"))
    source.scratch.push_back({buffer.at("bytes").get<std::int64_t>(), buffer.at("zeroed").get<bool>()});
}

}  // namespace cudaagent::codegen
