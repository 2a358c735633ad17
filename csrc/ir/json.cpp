// Graphs as JSON (docs/graph.md) and their canonical form, of which the fingerprint is taken.
#include <array>
#include <nlohmann/json.hpp>

#include "ir/ir.h"

namespace cudaagent::ir {

namespace {

constexpr std::array<const char*, 4> kind_names = {"user", "parameter", "buffer", "constant"};

InputKind kind_from(const std::string& name) {
  for (std::size_t i = 0; i < kind_names.size(); ++i) {
    if (name == kind_names[i]) return static_cast<InputKind>(i);
  }
  throw UserError("'" + name + "' is not an input kind: use user, parameter, buffer or constant");
}

Json optional_id(ValueId id) { return id == no_value ? Json(nullptr) : Json(id); }

ValueId id_or_none(const Json& json) { return json.is_null() ? no_value : json.get<ValueId>(); }

Json value_to_json(const Value& value) {
  Json json = value.type;
  json["name"] = value.name;
  if (value.origin != no_value) json["origin"] = value.origin;
  if (value.range_lo != value.range_hi) json["range"] = {value.range_lo, value.range_hi};
  return json;
}

Value value_from_json(const Json& json) {
  Value value;
  value.name = json.value("name", "");
  value.type = json.get<TensorType>();
  value.origin = json.value("origin", no_value);
  if (json.contains("range") && !json.at("range").is_null()) {
    value.range_lo = json.at("range").at(0).get<std::int64_t>();
    value.range_hi = json.at("range").at(1).get<std::int64_t>();
  }
  return value;
}

Json node_to_json(const Node& node) {
  Json json{{"op", node.op}, {"args", node.args}, {"outputs", Json::array()}};
  for (const ValueId output : node.outputs) json["outputs"].push_back(optional_id(output));
  if (node.origin >= 0) json["origin"] = node.origin;
  if (node.implicit) json["implicit"] = true;
  return json;
}

Node node_from_json(const Json& json) {
  Node node;
  node.op = json.at("op").get<std::string>();
  node.args = json.at("args").get<std::vector<NamedArg>>();
  for (const Json& output : json.at("outputs")) node.outputs.push_back(id_or_none(output));
  node.origin = json.value("origin", -1);
  node.implicit = json.value("implicit", false);
  return node;
}

Json output_to_json(const Output& output) {
  if (output.value == no_value) return Json{{"constant", output.constant}};
  return Json{{"value", output.value}, {"alias_of", optional_id(output.alias_of)}};
}

Output output_from_json(const Json& json) {
  Output output;
  if (json.contains("value") && !json.at("value").is_null()) {
    output.value = json.at("value").get<ValueId>();
    if (json.contains("alias_of")) output.alias_of = id_or_none(json.at("alias_of"));
  } else {
    output.constant = json.at("constant").get<Arg>();
  }
  return output;
}

Graph read(const Json& json) {
  Graph graph;
  for (const Json& value : json.at("values")) graph.values.push_back(value_from_json(value));
  for (const Json& input : json.at("inputs")) {
    graph.inputs.push_back(
        {input.at("value").get<ValueId>(), kind_from(input.value("kind", "user")), input.value("target", "")});
  }
  for (const Json& node : json.at("nodes")) graph.nodes.push_back(node_from_json(node));
  for (const Json& output : json.at("outputs")) graph.outputs.push_back(output_from_json(output));
  for (const Json& mutation : json.value("mutations", Json::array())) {
    graph.mutations.push_back({mutation.at("input").get<ValueId>(), mutation.at("value").get<ValueId>()});
  }
  return graph;
}

/// `graph` with values numbered by first use and everything that does not decide the computation left out.
class Canonical {
 public:
  explicit Canonical(const Graph& graph) : graph_(graph), map_(graph.values.size(), no_value) {}

  Graph make() {
    for (const Input& input : graph_.inputs) out_.inputs.push_back({take(input.value), input.kind, ""});
    for (const Node& node : graph_.nodes) add(node);
    for (const Output& output : graph_.outputs) {
      out_.outputs.push_back({take(output.value), output.constant, take(output.alias_of)});
    }
    for (const Mutation& mutation : graph_.mutations) {
      out_.mutations.push_back({take(mutation.input), take(mutation.value)});
    }
    return std::move(out_);
  }

 private:
  ValueId take(ValueId old) {
    if (old == no_value) return no_value;
    ValueId& fresh = map_.at(static_cast<std::size_t>(old));
    if (fresh == no_value) {
      Value value = graph_.values[static_cast<std::size_t>(old)];
      value.name.clear();
      value.origin = no_value;
      fresh = out_.add_value(std::move(value));
    }
    return fresh;
  }

  void add(const Node& node) {
    for (const ValueId id : references(node.args)) take(id);
    Node copy{node.op, remap_references(node.args, map_), {}, -1, node.implicit};
    for (const ValueId id : node.outputs) copy.outputs.push_back(take(id));
    out_.nodes.push_back(std::move(copy));
  }

  const Graph& graph_;
  std::vector<ValueId> map_;
  Graph out_;
};

}  // namespace

void to_json(Json& json, const Graph& graph) {
  json = Json{{"values", Json::array()},
              {"inputs", Json::array()},
              {"nodes", Json::array()},
              {"outputs", Json::array()},
              {"mutations", Json::array()}};
  for (const Value& value : graph.values) json["values"].push_back(value_to_json(value));
  for (const Input& input : graph.inputs) {
    json["inputs"].push_back({{"value", input.value},
                              {"kind", kind_names.at(static_cast<std::size_t>(input.kind))},
                              {"target", input.target}});
  }
  for (const Node& node : graph.nodes) json["nodes"].push_back(node_to_json(node));
  for (const Output& output : graph.outputs) json["outputs"].push_back(output_to_json(output));
  for (const Mutation& mutation : graph.mutations) {
    json["mutations"].push_back({{"input", mutation.input}, {"value", mutation.value}});
  }
}

void from_json(const Json& json, Graph& graph) {
  try {
    Graph fresh = read(json);
    check(fresh);
    graph = std::move(fresh);
  } catch (const Json::exception& error) {
    throw UserError(std::string("the document is not a graph as docs/graph.md describes it: ") + error.what());
  } catch (const InternalError& error) {
    throw UserError(std::string("the document breaks a rule of docs/graph.md: ") + error.what());
  }
}

std::string fingerprint(const Graph& graph) { return sha256(Json(Canonical(graph).make()).dump()); }

}  // namespace cudaagent::ir
