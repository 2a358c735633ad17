// Public header of the room `codegen`: a loop body and a candidate become source text and a declarative launch.
// Nothing here allocates, launches or measures; the same body and candidate give the same text byte for byte.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace cudaagent::codegen {

enum class Language : std::uint8_t { cuda, host };

/// What decides the code besides the body. It is data: JSON, comparable, replayable.
struct Candidate {
  std::string template_name;                   ///< "map", "reduce_rows", "reduce_columns", "reduce_split"
  std::map<std::string, std::int64_t> params;  ///< the template's own ("threads", "vector", "unroll", "keep")
  bool operator==(const Candidate&) const = default;
};
void to_json(Json& json, const Candidate& candidate);
void from_json(const Json& json, Candidate& candidate);

/// One kernel's argument: a body buffer, or a scratch buffer.
struct KernelArg {
  enum class Kind : std::uint8_t { buffer, scratch } kind = Kind::buffer;
  std::int32_t index = 0;
  bool operator==(const KernelArg&) const = default;
};

/// How one kernel is launched.
/// CUDA: extern "C" __global__ void name(T* ...) with one pointer per argument.
/// Host: extern "C" void name(void* const* args, int64_t begin, int64_t end), called over sub-ranges of [0, count)
///       from several threads, in chunks of at least `grain`.
struct Launch {
  std::string kernel;
  std::int64_t grid[3] = {1, 1, 1};
  std::int32_t block[3] = {1, 1, 1};
  std::int32_t cluster = 1;
  std::int32_t shared_bytes = 0;  ///< dynamic shared memory
  bool pdl = false;  ///< programmatic dependent launch: the text waits on its grid dependency before its first access
  std::int64_t count = 0;
  std::int64_t grain = 1;
  std::vector<KernelArg> args;
};

struct Scratch {
  std::int64_t bytes = 0;
  bool zeroed = false;
};

/// Source text and how to run it. `launches` run in order on one stream; each sees the effects of those before it.
struct Source {
  Language language = Language::host;
  std::string text;
  std::vector<Launch> launches;
  std::vector<Scratch> scratch;
};
void to_json(Json& json, const Source& source);
void from_json(const Json& json, Source& source);

/// What the generator must know of the device.
struct Target {
  Language language = Language::host;
  std::string arch;  ///< "sm_90a"; of the host: "native"
  int units = 1;     ///< SMs, or threads
  /// Shared memory one CUDA block may have; a unit has 1 KiB more.
  std::int64_t shared_bytes() const;
};

/// Names of the templates that can carry the body, best guess first; never empty for a valid body.
std::vector<std::string> legal_templates(const schedule::Body& body, const Target& target);
/// The analytic model's choice of template and parameters, with no measurement.
Candidate choose(const schedule::Body& body, const Target& target);
/// Other candidates worth a measurement, best guess first, `choose`'s included.
std::vector<Candidate> candidates(const schedule::Body& body, const Target& target, std::size_t most);

/// `name` is the region's stable name; kernels are called name, name_2, ...
Outcome<Source> generate(const schedule::Body& body, const Candidate& candidate, const Target& target,
                         const std::string& name);

/// The text every generated source includes first: "cudaagent_cuda.cuh" or "cudaagent_host.h", from prelude_dir.
std::string prelude_name(Language language);
/// Goes into every key: changes when a template or a prelude changes what it generates.
std::string version();

}  // namespace cudaagent::codegen
