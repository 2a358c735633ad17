#include "jit/resource_report.h"

#include <cstdlib>
#include <sstream>

namespace cudaagent::jit {
namespace {

/// The number that stands right before `unit` in `line`; 0 when the line does not speak of it.
int number_before(const std::string& line, const std::string& unit) {
  auto at = line.find(unit);
  if (at == std::string::npos) return 0;
  auto start = at;
  while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') --start;
  return std::atoi(line.substr(start, at - start).c_str());
}

bool starts_with(const std::string& line, const char* prefix) { return line.rfind(prefix, 0) == 0; }

}  // namespace

std::vector<Resources> parse_resource_report(const std::string& log) {
  std::vector<Resources> report;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const std::string opening = "Compiling entry function '";
    if (auto at = line.find(opening); at != std::string::npos) {
      auto start = at + opening.size();
      report.emplace_back().kernel = line.substr(start, line.find('\'', start) - start);
    } else if (report.empty()) {
      continue;
    } else if (line.find(" bytes stack frame") != std::string::npos) {
      report.back().stack_bytes = number_before(line, " bytes stack frame");
      report.back().spill_bytes =
          number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
    } else if (line.find("Used ") != std::string::npos) {
      report.back().registers = number_before(line, " registers");
      report.back().shared_bytes = number_before(line, " bytes smem");
    }
  }
  return report;
}

std::string without_resource_report(const std::string& log) {
  std::string kept;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || starts_with(line, "ptxas info") || starts_with(line, "ptxas   ")) continue;
    kept += line + "\n";
  }
  return kept;
}

}  // namespace cudaagent::jit
