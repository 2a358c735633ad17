// JSON of the shared types; the form of each Arg is in base/types.h.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/types.h"

namespace cudaagent {

namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};

Json number_to_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double number_from_json(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (json == "inf") return std::numeric_limits<double>::infinity();
  if (json == "-inf") return -std::numeric_limits<double>::infinity();
  throw UserError("'" + json.dump() + "' is not a number: write a JSON number, \"inf\", \"-inf\" or \"nan\"");
}

std::int64_t integer_from_json(const Json& json) {
  if (json.is_number_unsigned() &&
      json.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
    throw UserError("the integer " + json.dump() + " does not fit 64 signed bits");
  }
  return json.get<std::int64_t>();
}

Arg tagged_from_json(const Json& json) {
  const std::string tag = json.begin().key();
  const Json& body = json.begin().value();
  if (tag == "f") return {number_from_json(body)};
  if (tag == "ref") return {Ref{body.get<std::int32_t>()}};
  if (tag == "s") return {body.get<std::string>()};
  if (tag == "dtype") return {dtype_from_name(body.get<std::string>())};
  if (tag == "device") return {device_from_name(body.get<std::string>())};
  if (tag == "layout") return {Layout{body.get<std::string>()}};
  if (tag == "memory_format") return {MemoryFormat{body.get<std::string>()}};
  if (tag == "c") return {Complex{number_from_json(body.at(0)), number_from_json(body.at(1))}};
  throw UserError("'" + tag + "' is not a kind of argument: use f, ref, s, dtype, device, layout, memory_format or c");
}

}  // namespace

void to_json(Json& json, const TensorType& type) {
  json = Json{{"dtype", dtype_name(type.dtype)},
              {"dims", type.dims},
              {"strides", type.strides},
              {"device", device_name(type.device)}};
}

void from_json(const Json& json, TensorType& type) {
  type.dtype = dtype_from_name(json.at("dtype").get<std::string>());
  type.dims = json.at("dims").get<std::vector<std::int64_t>>();
  type.strides = json.at("strides").get<std::vector<std::int64_t>>();
  type.device = device_from_name(json.at("device").get<std::string>());
}

void to_json(Json& json, const Arg& arg) {
  json = std::visit(
      Overloaded{[](const None&) { return Json(nullptr); }, [](const Ref& ref) { return Json{{"ref", ref.id}}; },
                 [](bool value) { return Json(value); }, [](std::int64_t value) { return Json(value); },
                 [](double value) { return Json{{"f", number_to_json(value)}}; },
                 [](const Complex& value) {
                   return Json{{"c", Json::array({number_to_json(value.re), number_to_json(value.im)})}};
                 },
                 [](const std::string& value) { return Json{{"s", value}}; },
                 [](DType value) { return Json{{"dtype", dtype_name(value)}}; },
                 [](const Device& value) { return Json{{"device", device_name(value)}}; },
                 [](const Layout& value) { return Json{{"layout", value.name}}; },
                 [](const MemoryFormat& value) { return Json{{"memory_format", value.name}}; },
                 [](const ArgList& list) {
                   Json items = Json::array();
                   for (const Arg& item : list) items.push_back(Json(item));
                   return items;
                 }},
      arg.v);
}

void from_json(const Json& json, Arg& arg) {
  if (json.is_null()) {
    arg.v = None{};
  } else if (json.is_boolean()) {
    arg.v = json.get<bool>();
  } else if (json.is_number_integer()) {
    arg.v = integer_from_json(json);
  } else if (json.is_array()) {
    ArgList list;
    for (const Json& item : json) list.push_back(item.get<Arg>());
    arg.v = std::move(list);
  } else if (json.is_object() && json.size() == 1) {
    arg = tagged_from_json(json);
  } else {
    throw UserError("'" + json.dump() + "' is not an argument: see docs/graph.md for the forms it can take");
  }
}

void to_json(Json& json, const NamedArg& arg) { json = Json::array({Json(arg.name), Json(arg.value)}); }

void from_json(const Json& json, NamedArg& arg) {
  arg.name = json.at(0).get<std::string>();
  arg.value = json.at(1).get<Arg>();
}

}  // namespace cudaagent
