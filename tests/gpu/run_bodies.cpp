// Runs generated kernels on a GPU: checks them against the oracle at small sizes, times them at large ones.
//
//   run_bodies --nvrtc LIBNVRTC --prelude FOLDER [--only TEXT] [--most N] [--no-check] [BODY.json ...]
//
// A body file holds {"name": ..., "body": ...} or a list of such. Without files the bodies below are timed: the first
// candidate of each, with --most N the N best guesses. Times are medians with the L2 flushed before each run.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "codegen/cuda_bodies.h"
#include "jit/device.h"
#include "jit/driver_handles.h"

namespace cudaagent::testing {
namespace {

constexpr double copy_gigabytes = 4270;

struct Named {
  std::string name;
  schedule::Body body;
};

struct Settings {
  Options options;
  codegen::Target target;
  std::string only;
  std::size_t most = 1;
  bool check = true;
};

/// One candidate of one body, compiled and loaded.
struct Loaded {
  codegen::Candidate candidate;
  codegen::Source source;
  jit::Binary binary;
  std::unique_ptr<jit::Module> module;
};

std::vector<Loaded> load_candidates(const schedule::Body& body, const Settings& settings) {
  std::vector<Loaded> result;
  std::vector<codegen::Source> sources;
  for (const codegen::Candidate& candidate : codegen::candidates(body, settings.target, settings.most)) {
    auto source = codegen::generate(body, candidate, settings.target, "ca_body");
    if (!source) continue;
    result.push_back({candidate, source.value(), {}, nullptr});
    sources.push_back(source.value());
  }
  const auto binaries = jit::compile_all(sources, settings.target, settings.options, 8);
  for (std::size_t k = 0; k < binaries.size(); ++k) {
    if (!binaries[k]) throw std::runtime_error(binaries[k].rejection().log);
    result[k].binary = binaries[k].value();
    auto module = jit::load(result[k].binary, {DeviceType::cuda, 0});
    if (!module) throw std::runtime_error(module.rejection().reason);
    result[k].module = std::move(module.value());
  }
  return result;
}

/// A body's buffers on the device, with what a kernel needs besides.
class Bench {
 public:
  explicit Bench(const schedule::Body& body) : stream_(jit::make_stream()) {
    for (const schedule::Buffer& buffer : body.buffers)
      buffers_.push_back(jit::allocate_device(
          static_cast<std::size_t>(std::max<std::int64_t>(buffer.span * dtype_size(buffer.dtype), 16))));
  }
  std::uint64_t pointer(std::size_t buffer) const { return buffers_[buffer].get(); }

  void run(Loaded& kernel) {
    while (scratch_.size() < kernel.source.scratch.size()) scratch_.emplace_back();
    for (std::size_t s = 0; s < kernel.source.scratch.size(); ++s)
      if (sizes_[s] < kernel.source.scratch[s].bytes) {
        scratch_[s] = jit::allocate_device(static_cast<std::size_t>(kernel.source.scratch[s].bytes));
        sizes_[s] = kernel.source.scratch[s].bytes;
      }
    for (const codegen::Launch& launch : kernel.source.launches) {
      std::vector<void*> pointers;
      for (const codegen::KernelArg& arg : launch.args) {
        const auto& pool = arg.kind == codegen::KernelArg::Kind::buffer ? buffers_ : scratch_;
        pointers.push_back(reinterpret_cast<void*>(pool[static_cast<std::size_t>(arg.index)].get()));
      }
      auto launched = jit::launch_cuda(kernel.module->kernel(launch.kernel), launch, pointers.data(), stream_.get());
      if (!launched) throw std::runtime_error(launched.rejection().reason);
    }
  }
  void wait() { CUDAAGENT_CHECK(jit::require_driver().stream_synchronize(stream_.get())); }

  double median_us(Loaded& kernel, const jit::DeviceMemory& flush, std::size_t flush_bytes) {
    std::vector<double> times;
    for (int k = 0; k < 13; ++k) {
      const jit::Event start = jit::make_event(), end = jit::make_event();
      CUDAAGENT_CHECK(
          jit::require_driver().fill_async(flush.get(), static_cast<unsigned char>(k), flush_bytes, stream_.get()));
      CUDAAGENT_CHECK(jit::require_driver().event_record(start.get(), stream_.get()));
      run(kernel);
      CUDAAGENT_CHECK(jit::require_driver().event_record(end.get(), stream_.get()));
      times.push_back(jit::elapsed_us(start, end));
    }
    std::sort(times.begin() + 3, times.end());
    return times[8];
  }

 private:
  jit::Stream stream_;
  std::vector<jit::DeviceMemory> buffers_, scratch_;
  std::map<std::size_t, std::int64_t> sizes_;
};

/// expect_matches' view of a device kernel.
struct DeviceKernel {
  const schedule::Body& body;
  Loaded& loaded;
  Bench bench{body};

  const codegen::Source& source() const { return loaded.source; }
  void run(const std::vector<void*>& buffers) {
    const auto bytes = [&](std::size_t b) {
      return static_cast<std::size_t>(body.buffers[b].span * dtype_size(body.buffers[b].dtype));
    };
    for (std::size_t b = 0; b < buffers.size(); ++b)
      CUDAAGENT_CHECK(jit::require_driver().copy_to_device(bench.pointer(b), buffers[b], bytes(b)));
    bench.run(loaded);
    bench.wait();
    for (std::size_t b = 0; b < buffers.size(); ++b)
      CUDAAGENT_CHECK(jit::require_driver().copy_to_host(buffers[b], bench.pointer(b), bytes(b)));
  }
};

void check(const Named& named, Settings settings) {
  settings.most = 64;
  for (Loaded& loaded : load_candidates(named.body, settings)) {
    Json candidate;
    codegen::to_json(candidate, loaded.candidate);
    SCOPED_TRACE(named.name + " " + candidate.dump());
    DeviceKernel kernel{named.body, loaded};
    Memory memory(named.body);
    fill_random(named.body, memory, 11);
    const bool coarse = std::any_of(
        named.body.buffers.begin(), named.body.buffers.end(),
        [](const schedule::Buffer& buffer) { return is_float(buffer.dtype) && dtype_size(buffer.dtype) == 2; });
    expect_matches(named.body, kernel, memory, coarse ? 2e-2 : 2e-5, coarse ? 2e-2 : 2e-5);
  }
}

/// Normal floats and zero elsewhere, from one host pattern repeated; class indices stay in range.
void fill(const schedule::Body& body, const Bench& bench) {
  for (std::size_t b = 0; b < body.buffers.size(); ++b) {
    const schedule::Buffer& buffer = body.buffers[b];
    const std::int64_t size = dtype_size(buffer.dtype), bytes = buffer.span * size,
                       chunk = std::min<std::int64_t>(bytes, 16 << 20);
    std::vector<char> pattern(static_cast<std::size_t>(chunk), 0);
    std::mt19937 random(static_cast<unsigned>(b) + 1);
    std::normal_distribution<float> normal;
    if (is_float(buffer.dtype))
      for (std::int64_t k = 0; k + size <= chunk; k += size)
        store_element(pattern.data() + k, buffer.dtype, normal(random));
    for (std::int64_t at = 0; at < bytes; at += chunk)
      CUDAAGENT_CHECK(jit::require_driver().copy_to_device(bench.pointer(b) + static_cast<std::uint64_t>(at),
                                                           pattern.data(),
                                                           static_cast<std::size_t>(std::min(chunk, bytes - at))));
  }
}

void time_body(const Named& named, const Settings& settings) {
  const std::size_t flush_bytes = 256 << 20;
  const jit::DeviceMemory flush = jit::allocate_device(flush_bytes);
  Bench bench(named.body);
  fill(named.body, bench);
  for (Loaded& loaded : load_candidates(named.body, settings)) {
    const double us = bench.median_us(loaded, flush, flush_bytes);
    const double rate = static_cast<double>(schedule::bytes_moved(named.body)) / us / 1e3;
    std::string registers;
    for (const jit::Resources& kernel : loaded.binary.resources) registers += " " + std::to_string(kernel.registers);
    Json candidate;
    codegen::to_json(candidate, loaded.candidate);
    std::printf("%-32s %9.1f us %7.0f GB/s %5.1f %%  regs%s  %.0f ms  %s\n", named.name.c_str(), us, rate,
                100 * rate / copy_gigabytes, registers.c_str(), loaded.binary.seconds * 1e3, candidate.dump().c_str());
    std::fflush(stdout);
  }
}

std::vector<Named> small_bodies() {
  return {{"softmax", softmax_rows(37, 1000, DType::f32)},
          {"softmax odd", softmax_rows(9, 5001, DType::f32)},
          {"softmax bf16", softmax_rows(33, 4096, DType::bf16)},
          {"softmax wide", softmax_rows(3, 40000, DType::f32)},
          {"layer norm", layer_norm(65, 768, DType::f32)},
          {"batch norm", batch_norm(8, 16, 196)},
          {"channels", softmax_channels(2, 40, 196)},
          {"group norm", group_norm(2, 3, 8, 4096)},
          {"channels last", channels_last(3, 70, 99, DType::f32)},
          {"column sum", plain_reduction(ir::ReduceKind::sum, 260, 3000, DType::f32, true)},
          {"argmax", plain_reduction(ir::ReduceKind::argmax, 50, 8192, DType::f32, false)},
          {"full max", full_reduction(ir::ReduceKind::max, 1000003, DType::f32)},
          {"gelu", gelu(100003, DType::f32)},
          {"scale relu", scale_relu(4, 16, 196, DType::f32)}};
}

std::vector<Named> large_bodies() {
  std::vector<Named> bodies;
  for (const std::int64_t length : {256, 1024, 8192, 32768, 131072})
    bodies.push_back(
        {"softmax " + std::to_string(length), softmax_rows((std::int64_t{1} << 26) / length, length, DType::f32)});
  bodies.push_back({"softmax 8192x50257", softmax_rows(8192, 50257, DType::f32)});
  bodies.push_back({"softmax 64x131072", softmax_rows(64, 131072, DType::f32)});
  bodies.push_back({"softmax 16384x4096 bf16", softmax_rows(16384, 4096, DType::bf16)});
  bodies.push_back({"layer norm 131072x1024", layer_norm(131072, 1024, DType::f32)});
  bodies.push_back({"layer norm 32768x4096 bf16", layer_norm(32768, 4096, DType::bf16)});
  bodies.push_back({"gelu 2^28", gelu(1 << 28, DType::f32)});
  bodies.push_back({"gelu 2^28 bf16", gelu(1 << 28, DType::bf16)});
  bodies.push_back({"scale relu 256x64x112x112", scale_relu(256, 64, 112 * 112, DType::f32)});
  bodies.push_back({"scale relu 256x512x49", scale_relu(256, 512, 49, DType::f32)});
  bodies.push_back({"group norm 128x64x128x128 g8", group_norm(128, 8, 8, 128 * 128)});
  bodies.push_back({"channels last 256x256x56x56", channels_last(256, 256, 56 * 56, DType::f32)});
  bodies.push_back({"channels last 256x256x56x56 bf16", channels_last(256, 256, 56 * 56, DType::bf16)});
  bodies.push_back({"batch norm 64x64x112x112", batch_norm(64, 64, 112 * 112)});
  bodies.push_back({"batch norm 256x512x49", batch_norm(256, 512, 49)});
  bodies.push_back({"softmax channels 64x64x128x128", softmax_channels(64, 64, 128 * 128)});
  bodies.push_back({"column sum 65536x4096", plain_reduction(ir::ReduceKind::sum, 4096, 65536, DType::f32, true)});
  bodies.push_back({"column sum 2^22x64", plain_reduction(ir::ReduceKind::sum, 64, 1 << 22, DType::f32, true)});
  bodies.push_back({"row sum 32768x8192", plain_reduction(ir::ReduceKind::sum, 32768, 8192, DType::f32, false)});
  bodies.push_back({"row sum 2^22x64", plain_reduction(ir::ReduceKind::sum, 1 << 22, 64, DType::f32, false)});
  bodies.push_back({"argmax 32768x8192", plain_reduction(ir::ReduceKind::argmax, 32768, 8192, DType::f32, false)});
  bodies.push_back({"full sum 2^28", full_reduction(ir::ReduceKind::sum, 1 << 28, DType::f32)});
  bodies.push_back({"full argmax 2^28", full_reduction(ir::ReduceKind::argmax, 1 << 28, DType::f32)});
  return bodies;
}

std::vector<Named> read_bodies(const std::string& path) {
  Json json = Json::parse(std::ifstream(path));
  if (!json.is_array()) json = Json::array({json});
  std::vector<Named> bodies;
  for (const Json& one : json)
    bodies.push_back({one.at("name").get<std::string>(), one.at("body").get<schedule::Body>()});
  return bodies;
}

int main_of(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  Settings settings;
  std::vector<Named> files;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--no-check")
      settings.check = false;
    else if (word == "--nvrtc" && k + 1 < argc)
      settings.options.nvrtc_path = argv[++k];
    else if (word == "--prelude" && k + 1 < argc)
      settings.options.prelude_dir = argv[++k];
    else if (word == "--only" && k + 1 < argc)
      settings.only = argv[++k];
    else if (word == "--most" && k + 1 < argc)
      settings.most = std::stoul(argv[++k]);
    else
      for (Named& body : read_bodies(word)) files.push_back(std::move(body));
  }
  settings.target.language = codegen::Language::cuda;
  settings.target.arch = jit::device_arch(0);
  settings.target.units = jit::device_units(0);
  const jit::PrimaryContext context(0);
  const jit::ScopedContext current(context);
  const auto each = [&](const std::vector<Named>& bodies, auto action) {
    for (const Named& body : bodies)
      if (body.name.find(settings.only) != std::string::npos) action(body, settings);
  };
  if (settings.check) each(small_bodies(), check);
  each(files.empty() ? large_bodies() : files, time_body);
  const bool failed = ::testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed();
  std::printf(failed ? "FAILED\n" : "all right\n");
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace cudaagent::testing

int main(int argc, char** argv) { return cudaagent::testing::main_of(argc, argv); }
