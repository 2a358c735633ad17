#include <array>
#include <nlohmann/json.hpp>

#include "schedule/schedule.h"

namespace cudaagent::schedule {

namespace {

constexpr std::array<const char*, 6> kind_names = {"load", "constant", "index", "map", "reduce", "store"};

InstKind kind_from(const std::string& name) {
  for (std::size_t k = 0; k < kind_names.size(); ++k) {
    if (name == kind_names[k]) return static_cast<InstKind>(k);
  }
  throw UserError("body: \"" + name + "\" is no instruction; use load, constant, index, map, reduce or store");
}

Json inst_json(const Inst& inst) {
  Json json = {{"kind", kind_names.at(static_cast<std::size_t>(inst.kind))},
               {"dtype", dtype_name(inst.dtype)},
               {"stage", inst.stage},
               {"element", inst.element}};
  if (inst.kind == InstKind::map) json["fn"] = inst.fn;
  if (inst.kind == InstKind::reduce) json["fn"] = ir::reduce_kind_name(inst.reduce);
  if (inst.kind == InstKind::constant) json["constant"] = inst.constant;
  if (!inst.operands.empty()) json["operands"] = inst.operands;
  if (inst.access.buffer >= 0) json["buffer"] = inst.access.buffer;
  if (inst.kind == InstKind::load || inst.kind == InstKind::store || inst.kind == InstKind::index) {
    json["offset"] = inst.access.offset;
    json["strides"] = inst.access.strides;
  }
  return json;
}

Inst inst_from(const Json& json) {
  Inst inst;
  inst.kind = kind_from(json.at("kind").get<std::string>());
  inst.dtype = dtype_from_name(json.at("dtype").get<std::string>());
  inst.stage = json.at("stage").get<std::int32_t>();
  inst.element = json.at("element").get<bool>();
  if (inst.kind == InstKind::map) inst.fn = json.at("fn").get<std::string>();
  if (inst.kind == InstKind::reduce) {
    const std::string name = json.at("fn").get<std::string>();
    const auto kind = ir::find_reduce_kind(name);
    if (!kind) throw UserError("body: \"" + name + "\" is no reduction; use a kind of prim::reduce");
    inst.reduce = *kind;
  }
  if (inst.kind == InstKind::constant) inst.constant = json.at("constant").get<Arg>();
  inst.operands = json.value("operands", std::vector<std::int32_t>{});
  inst.access.buffer = json.value("buffer", -1);
  inst.access.offset = json.value("offset", std::int64_t{0});
  inst.access.strides = json.value("strides", std::vector<std::int64_t>{});
  return inst;
}

}  // namespace

void to_json(Json& json, const Body& body) {
  json = {{"axes", Json::array()}, {"buffers", Json::array()}, {"insts", Json::array()}, {"stages", body.stages}};
  for (const Axis& axis : body.axes) json["axes"].push_back({{"extent", axis.extent}, {"reduced", axis.reduced}});
  for (const Buffer& buffer : body.buffers) {
    json["buffers"].push_back({{"value", buffer.value},
                               {"dtype", dtype_name(buffer.dtype)},
                               {"span", buffer.span},
                               {"output", buffer.output}});
  }
  for (const Inst& inst : body.insts) json["insts"].push_back(inst_json(inst));
}

void from_json(const Json& json, Body& body) {
  body = {};
  for (const Json& axis : json.at("axes")) {
    body.axes.push_back({axis.at("extent").get<std::int64_t>(), axis.at("reduced").get<bool>()});
  }
  for (const Json& buffer : json.at("buffers")) {
    body.buffers.push_back({buffer.value("value", ir::no_value), dtype_from_name(buffer.at("dtype").get<std::string>()),
                            buffer.at("span").get<std::int64_t>(), buffer.at("output").get<bool>()});
  }
  for (const Json& inst : json.at("insts")) body.insts.push_back(inst_from(inst));
  body.stages = json.at("stages").get<std::int32_t>();
}

std::string fingerprint(const Body& body) {
  Json json = body;
  for (Json& buffer : json["buffers"]) buffer.erase("value");
  return sha256(json.dump());
}

}  // namespace cudaagent::schedule
