// Our exceptions as Python sees them: one plain sentence, no C++ frames.
#pragma once

#include <c10/util/Exception.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/base.h"
#include "runtime/runtime.h"

namespace cudaagent::bridge {

/// UserError becomes ValueError; a guard that does not hold, a RuntimeError that starts with "cudaagent guard: " (the
/// caller runs eager instead; nothing was written); a bug of ours, a RuntimeError that says so. Torch's own pass
/// through.
template <class Body>
auto translate_errors(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const UserError& error) {
    TORCH_CHECK_VALUE(false, error.what());
  } catch (const runtime::GuardFailure& guard) {
    TORCH_CHECK(false, "cudaagent guard: ", guard.reason);
  } catch (const InternalError& error) {
    TORCH_CHECK(false, "cudaagent internal error: ", error.what());
  }
}

inline Json parse_json(const std::string& text, const char* what) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) throw UserError(std::string(what) + " is not JSON; pass what the capture wrote");
  return json;
}

}  // namespace cudaagent::bridge
