// Reads one captured graph a line from stdin and answers each with one line:
//   {"graph": ..., "fired": [[pass, rule, count], ...], "left": [[node, reason], ...]} or {"error": "..."}
// With --operators it prints the covered operators, one a line.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "rewrite/rewrite.h"

namespace {

using cudaagent::Json;

Json answer(const std::string& line) {
  const auto captured = Json::parse(line).get<cudaagent::ir::Graph>();
  cudaagent::ir::check(captured);
  const auto result = cudaagent::rewrite::rewrite(captured, {});
  Json json{{"graph", result.graph}, {"fired", Json::array()}, {"left", Json::array()}};
  for (const auto& fired : result.fired) json["fired"].push_back({fired.pass, fired.rule, fired.count});
  for (const auto& [node, why] : result.left) json["left"].push_back({node, why});
  return json;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--operators") {
    for (const std::string& name : cudaagent::rewrite::covered_operators()) std::cout << name << "\n";
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);) {
    Json reply;
    try {
      reply = answer(line);
    } catch (const std::exception& error) {
      reply = Json{{"error", error.what()}};
    }
    std::cout << reply.dump() << std::endl;
  }
  return 0;
}
