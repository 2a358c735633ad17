#include "verify/executor.h"

#include <sys/mman.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.h"

namespace cudaagent::verify {

namespace {

std::vector<void*> pointers_from(std::byte* base, const std::vector<std::int64_t>& offsets) {
  std::vector<void*> pointers;
  for (const std::int64_t offset : offsets) pointers.push_back(base + offset);
  return pointers;
}

/// On several threads and over uneven ranges, as the host's pool may cut them.
void run_host(void* function, const codegen::Launch& launch, const std::vector<void*>& args) {
  constexpr std::int64_t most_pieces = 4;
  const auto kernel = reinterpret_cast<jit::HostKernel>(function);
  const std::int64_t grain = std::max<std::int64_t>(launch.grain, 1);
  const std::int64_t pieces = std::clamp<std::int64_t>(launch.count / grain, 1, most_pieces);
  std::vector<std::thread> threads;
  std::int64_t begin = 0;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t left = launch.count - begin;
    const bool last = piece == pieces - 1;
    const std::int64_t length = last ? left : std::max(grain, (left - grain * (pieces - 1 - piece)) / 2);
    if (last) {
      kernel(args.data(), begin, launch.count);
    } else {
      threads.emplace_back([&args, kernel, begin, end = begin + length] { kernel(args.data(), begin, end); });
    }
    begin += length;
  }
  for (std::thread& thread : threads) thread.join();
}

void expect(const Outcome<int>& outcome) {
  if (!outcome) throw InternalError(outcome.rejection().reason);
}

}  // namespace

Executor::Executor(int fd, const Device& device) : fd_(fd), device_(device) {
  if (device.type != DeviceType::cuda) return;
  context_ = std::make_unique<jit::PrimaryContext>(device.index);
  current_ = std::make_unique<jit::ScopedContext>(*context_);
}

Executor::~Executor() {
  modules_.clear();
  if (memory_) munmap(memory_, static_cast<std::size_t>(mapped_));
}

void Executor::load(const Json& steps) {
  launches_.clear();
  modules_.clear();
  for (const Json& step : steps) {
    const auto source = step.at("source").get<codegen::Source>();
    jit::Binary binary;
    binary.language = source.language;
    binary.arch = step.at("arch").get<std::string>();
    binary.image = read_file(step.at("image").get<std::string>());
    auto module = jit::load(binary, device_);
    if (!module) throw InternalError(module.rejection().reason + " " + module.rejection().log);
    modules_.push_back(std::move(module.value()));
    for (const codegen::Launch& launch : source.launches) {
      launches_.push_back({launch, modules_.back()->kernel(launch.kernel)});
    }
  }
}

void Executor::map(std::int64_t bytes) {
  if (bytes <= mapped_) return;
  if (memory_) munmap(memory_, static_cast<std::size_t>(mapped_));
  void* mapped = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (mapped == MAP_FAILED) throw InternalError("the shared memory cannot be mapped");
  memory_ = static_cast<std::byte*>(mapped);
  mapped_ = bytes;
}

void Executor::run(std::int64_t bytes, const std::vector<std::vector<std::int64_t>>& offsets) {
  if (offsets.size() != launches_.size()) throw InternalError("the request names another number of launches");
  map(bytes);
  if (device_.type == DeviceType::cuda) return run_cuda(bytes, offsets);
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const LoadedLaunch& loaded = launches_[i];
    if (loaded.launch.count > 0) run_host(loaded.function, loaded.launch, pointers_from(memory_, offsets[i]));
  }
}

void Executor::run_cuda(std::int64_t bytes, const std::vector<std::vector<std::int64_t>>& offsets) {
  const jit::Driver& driver = jit::require_driver();
  const auto size = static_cast<std::size_t>(bytes);
  jit::DeviceMemory memory = jit::allocate_device(size);
  const jit::Stream stream = jit::make_stream();
  CUDAAGENT_CHECK(driver.copy_to_device(memory.get(), memory_, size));
  // The copy is ordered on the default stream, the kernels run on a stream that does not wait for it.
  CUDAAGENT_CHECK(driver.context_synchronize());
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    const std::vector<void*> args = pointers_from(reinterpret_cast<std::byte*>(memory.get()), offsets[i]);
    expect(jit::launch_cuda(launches_[i].function, launches_[i].launch, args.data(), stream.get()));
  }
  CUDAAGENT_CHECK(driver.stream_synchronize(stream.get()));
  CUDAAGENT_CHECK(driver.copy_to_host(memory_, memory.get(), size));
  before_ = std::move(memory);
}

}  // namespace cudaagent::verify
