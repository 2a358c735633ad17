// Errors and outcomes. Three kinds, never mixed:
//   UserError      the caller can mend it; one sentence that names the remedy
//   InternalError  a bug of ours; the message says which promise broke
//   Rejection      a bad candidate; a value, recorded with its reason, never thrown
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace cudaagent {

class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Why a candidate (or a node's template) was turned down.
/// `stage` is the room that refused it, `reason` one line, `log` the full evidence (compiler output).
struct Rejection {
  std::string stage;
  std::string reason;
  std::string log;
};

/// A value or the Rejection that stands in its place.
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::move(value)) {}                  // NOLINT: implicit by intent
  Outcome(Rejection rejection) : state_(std::move(rejection)) {}  // NOLINT: implicit by intent

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  T& value() {
    if (!ok()) throw InternalError("Outcome::value on a rejection: " + rejection().reason);
    return std::get<T>(state_);
  }
  const T& value() const { return const_cast<Outcome*>(this)->value(); }
  const Rejection& rejection() const { return std::get<Rejection>(state_); }

 private:
  std::variant<T, Rejection> state_;
};

}  // namespace cudaagent
