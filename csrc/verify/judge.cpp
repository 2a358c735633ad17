#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "base/files.h"
#include "verify/trial.h"

namespace cudaagent::verify {

namespace {

// Address space a host child may take beyond the claims' own memory: libraries and threads.
constexpr std::int64_t spare_address_space = std::int64_t{8} << 30;

std::int64_t address_limit(const std::vector<Claim>& claims) {
  std::int64_t most = 0;
  for (const Claim& claim : claims) {
    std::int64_t bytes = 0;
    for (const TensorType& type : claim.tensors) bytes += type.span() * dtype_size(type.dtype);
    for (const Step& step : claim.steps) {
      for (const codegen::Scratch& scratch : step.source.scratch) bytes += scratch.bytes;
    }
    most = std::max(most, bytes);
  }
  return 2 * most + spare_address_space;
}

std::uint64_t draw_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

Verdict untested(const std::string& reason) {
  Verdict verdict;
  verdict.reason = reason;
  return verdict;
}

class Judge {
 public:
  Judge(const std::vector<Claim>& claims, const Device& device, const Options& options, TensorHost& host)
      : claims_(claims),
        device_(device),
        options_(options),
        host_(host),
        seed_(options.seed ? options.seed : draw_seed()) {
    if (options.judge_path.empty()) {
      throw UserError(
          "judge_path names no program, so no kernel can be verified: set it to the installed cudaagent-judge");
    }
  }

  Verdict judge_one(const Claim& claim) {
    if (!child_) child_ = open_child();
    if (!unavailable_.empty()) return untested(unavailable_);
    if (const std::string error = child_->ask({{"do", "load"}, {"steps", steps(claim)}}, options_.verify_timeout_s);
        !error.empty()) {
      child_.reset();
      Verdict verdict;
      verdict.status = Status::failed;
      verdict.reason = "the kernel does not load: " + error;
      return verdict;
    }
    try {
      Trial trial(claim, device_, options_, host_, memory_, *child_, seed_ + 0x10000 * count_++);
      Verdict verdict = trial.run();
      if (!trial.child_is_well()) child_.reset();
      return verdict;
    } catch (const std::exception& error) {
      return untested(std::string("no truth to compare with: ") + error.what());
    }
  }

 private:
  /// A child that has opened the device; `unavailable_` says why there is none.
  std::unique_ptr<Child> open_child() {
    const bool on_host = device_.type == DeviceType::cpu;
    auto child = std::make_unique<Child>(options_.judge_path, memory_.fd(), on_host ? address_limit(claims_) : 0);
    unavailable_ = child->ask({{"do", "open"}, {"device", device_name(device_)}}, options_.verify_timeout_s);
    return child;
  }

  Json steps(const Claim& claim) {
    Json list = Json::array();
    for (const Step& step : claim.steps) {
      const std::string image = folder_.file("kernel" + std::to_string(images_++));
      write_file(image, step.binary.image);
      codegen::Source bare = step.source;
      bare.text.clear();
      list.push_back({{"source", bare}, {"arch", step.binary.arch}, {"image", image}});
    }
    return list;
  }

  const std::vector<Claim>& claims_;
  Device device_;
  const Options& options_;
  TensorHost& host_;
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
  int images_ = 0;
  TempFolder folder_;
  SharedMemory memory_;
  std::unique_ptr<Child> child_;
  std::string unavailable_;
};

}  // namespace

std::vector<Verdict> judge(const std::vector<Claim>& claims, const Device& device, const Options& options,
                           TensorHost& host) {
  std::vector<Verdict> verdicts;
  if (claims.empty()) return verdicts;
  Judge judge(claims, device, options, host);
  for (const Claim& claim : claims) {
    verdicts.push_back(judge.judge_one(claim));
    log(LogLevel::debug, "verify: claim " + std::to_string(verdicts.size()) + " of " + std::to_string(claims.size()) +
                             ": " + (verdicts.back().reason.empty() ? "passed" : verdicts.back().reason));
  }
  return verdicts;
}

}  // namespace cudaagent::verify
