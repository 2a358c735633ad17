// Runs generated CUDA text on the CPU (tests/support/cuda_emulation.h), many kernels to one compilation.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "host_harness.h"

namespace cudaagent::testing {

inline codegen::Target cuda_target(const std::string& arch = "sm_90a") {
  codegen::Target target;
  target.language = codegen::Language::cuda;
  target.arch = arch;
  target.units = 132;
  return target;
}

/// One body, a way to carry it, and how near the result must come.
struct CudaCase {
  std::string name;
  schedule::Body body;
  codegen::Candidate candidate;
  double tolerance = 0, floor = 0;
};

inline CudaCase chosen(std::string name, schedule::Body body, double tolerance = 0, double floor = 0) {
  codegen::Candidate candidate = codegen::choose(body, cuda_target());
  return {std::move(name), std::move(body), std::move(candidate), tolerance, floor};
}

class Emulator {
 public:
  /// Generates and compiles all of them; throws with the log when one does not compile.
  explicit Emulator(const std::vector<CudaCase>& cases) {
    std::string text;
    for (std::size_t k = 0; k < cases.size(); ++k) {
      auto source = codegen::generate(cases[k].body, cases[k].candidate, cuda_target(), "k" + std::to_string(k));
      if (!source) throw std::runtime_error(cases[k].name + ": " + source.rejection().reason);
      sources_.push_back(source.value());
      text += source.value().text;
    }
    char folder[] = "/tmp/cudaagent-emulation-XXXXXX";
    if (!mkdtemp(folder)) throw std::runtime_error("no temporary folder");
    const std::string base = folder, root = CUDAAGENT_SOURCE_DIR;
    std::ofstream(base + "/kernels.cpp") << text;
    const std::string command = "g++ -std=c++20 -O1 -w -shared -fPIC -DCA_EMULATE -U_FORTIFY_SOURCE -include " + root +
                                "/tests/support/cuda_emulation.h -I" + root + "/csrc/codegen/templates " + base +
                                "/kernels.cpp -o " + base + "/kernels.so 2>" + base + "/log";
    const bool compiled = std::system(command.c_str()) == 0;
    std::ifstream log(base + "/log");
    const std::string message{std::istreambuf_iterator<char>(log), {}};
    library_ = compiled ? dlopen((base + "/kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!std::getenv("CUDAAGENT_KEEP_EMULATION")) std::filesystem::remove_all(base);
    if (!library_) throw std::runtime_error("the emulation does not compile:\n" + message.substr(0, 4000));
  }
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;
  ~Emulator() { dlclose(library_); }

  const codegen::Source& source(std::size_t k) const { return sources_[k]; }

  void run(std::size_t k, const std::vector<void*>& buffers) {
    const codegen::Source& source = sources_[k];
    std::vector<std::vector<char>> scratch;
    for (const codegen::Scratch& one : source.scratch)
      scratch.emplace_back(static_cast<std::size_t>(one.bytes), one.zeroed ? 0 : '\x77');
    using Run = void (*)(void*, void**, int, unsigned, unsigned, unsigned);
    const auto emulate = reinterpret_cast<Run>(dlsym(library_, "ca_emulate"));
    for (const codegen::Launch& launch : source.launches) {
      std::vector<void*> args;
      for (const codegen::KernelArg& arg : launch.args)
        args.push_back(arg.kind == codegen::KernelArg::Kind::buffer
                           ? buffers[static_cast<std::size_t>(arg.index)]
                           : scratch[static_cast<std::size_t>(arg.index)].data());
      emulate(dlsym(library_, launch.kernel.c_str()), args.data(), static_cast<int>(args.size()),
              static_cast<unsigned>(launch.grid[0]), static_cast<unsigned>(launch.block[0]),
              static_cast<unsigned>(launch.cluster));
    }
  }

 private:
  std::vector<codegen::Source> sources_;
  void* library_ = nullptr;
};

/// One case as expect_matches runs it. `shift`: bytes by which every buffer misses the alignment vectors need.
struct EmulatedKernel {
  Emulator& emulator;
  std::size_t index;
  const schedule::Body& body;
  std::int64_t shift = 0;

  const codegen::Source& source() const { return emulator.source(index); }
  void run(const std::vector<void*>& buffers) {
    if (shift == 0) return emulator.run(index, buffers);
    std::vector<std::vector<char>> moved;
    std::vector<void*> pointers;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      moved.emplace_back(bytes(b) + 64, '\x5a');
      pointers.push_back(moved[b].data() + shift);
      std::memcpy(pointers[b], buffers[b], bytes(b));
    }
    emulator.run(index, pointers);
    for (std::size_t b = 0; b < buffers.size(); ++b) std::memcpy(buffers[b], pointers[b], bytes(b));
  }

 private:
  std::size_t bytes(std::size_t b) const {
    return static_cast<std::size_t>(body.buffers[b].span * dtype_size(body.buffers[b].dtype));
  }
};

/// Every case on random inputs, on aligned buffers and on buffers that begin one element later.
inline void check_cases(const std::vector<CudaCase>& cases) {
  Emulator emulator(cases);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    for (const std::int64_t shift : {0, 8}) {
      SCOPED_TRACE(cases[k].name + (shift ? ", misaligned" : ""));
      EmulatedKernel kernel{emulator, k, cases[k].body, shift};
      Memory memory(cases[k].body);
      fill_random(cases[k].body, memory, static_cast<unsigned>(k) + 1);
      expect_matches(cases[k].body, kernel, memory, cases[k].tolerance, cases[k].floor);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace cudaagent::testing
