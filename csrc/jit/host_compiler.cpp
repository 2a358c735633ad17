#include "jit/host_compiler.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "base/files.h"
#include "jit/subprocess.h"

namespace cudaagent::jit {
namespace {

// No value changes under these: -fno-trapping-math and -fno-math-errno give up exception flags and errno, which nothing
// reads, and let comparisons, selects and libmvec calls vectorise. NaN, infinities and signed zeros keep their meaning.
// Kernels use no exceptions, no RTTI and no C++ runtime, so that one costs g++ 80 ms rather than 300.
const std::vector<std::string>& compile_flags() {
  static const std::vector<std::string> flags = {"-std=c++20",
                                                 "-O3",
                                                 "-march=native",
                                                 "-fPIC",
                                                 "-fno-math-errno",
                                                 "-fno-trapping-math",
                                                 "-ffp-contract=off",
                                                 "-fwrapv",
                                                 "-fno-exceptions",
                                                 "-fno-rtti",
                                                 "-fno-semantic-interposition",
                                                 "-fno-plt",
                                                 "-fno-asynchronous-unwind-tables",
                                                 "-w"};
  return flags;
}

const std::vector<std::string>& link_flags() {
  static const std::vector<std::string> flags = {"-shared",
                                                 "-nostdlib",
                                                 "-Wl,--as-needed",
                                                 "-Wl,--no-undefined",
#if defined(__x86_64__)
                                                 "-lmvec",
#endif
                                                 "-lm",
                                                 "-lc",
                                                 "-lgcc"};
  return flags;
}

std::string compiler(const Options& options) { return options.cxx.empty() ? "g++" : options.cxx; }

/// What a compiler needs: where its programs are, where its temporary files go, and messages in English.
std::vector<std::string> compiler_environment(const std::string& temporary) {
  std::vector<std::string> result = {"LC_ALL=C", "TMPDIR=" + temporary};
  bool has_path = false;
  for (const std::string& entry : child_environment()) {
    if (entry.rfind("PATH=", 0) == 0) has_path = true;
    if (entry.rfind("PATH=", 0) == 0 || entry.rfind("LD_LIBRARY_PATH=", 0) == 0) result.push_back(entry);
  }
  if (!has_path) result.push_back("PATH=/usr/local/bin:/usr/bin:/bin");
  return result;
}

std::string missing_compiler(const Options& options, const std::string& why) {
  return "cannot run the host compiler '" + compiler(options) + "' (" + why +
         "); run `apt-get install g++` or name another one in TORCH_CUDAAGENT_CXX";
}

Rejection refused(const std::string& reason, const Finished& run, const codegen::Source& source) {
  return Rejection{"jit", reason, run.output + "\n--- source ---\n" + source.text};
}

/// "sse4_2 avx2 ...": decides what -march=native means. The first processor's, sorted.
std::string processor_features() {
  static const std::string features = [] {
    std::ifstream info("/proc/cpuinfo");
    std::string line, model;
    std::set<std::string> flags;
    while (std::getline(info, line) && !line.empty()) {
      auto colon = line.find(':');
      if (colon == std::string::npos) continue;
      std::string name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
      if (name == "flags" || name == "Features") {
        std::istringstream words(line.substr(colon + 1));
        for (std::string word; words >> word;) flags.insert(word);
      } else if (name == "vendor_id" || name == "cpu family" || name == "model" || name.rfind("CPU ", 0) == 0) {
        model += line.substr(colon + 1);
      }
    }
    std::string joined = model;
    for (const std::string& flag : flags) joined += " " + flag;
    return joined;
  }();
  return features;
}

/// Keeps the private folder's random name out of logs, which are recorded and compared.
void erase_all(std::string& text, const std::string& part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Why a compiler that calls itself this cannot compile the prelude; empty when it can. Its vectors need what g++ has
/// from 12 on (__builtin_shufflevector, _Float16) and clang writes differently.
std::string unfit(const Options& options, const std::string& version) {
  constexpr int oldest = 12;
  const std::size_t last = version.find_last_of(' ');
  const int major = last == std::string::npos ? 0 : std::atoi(version.c_str() + last + 1);
  const bool clang = version.find("clang") != std::string::npos;
  if (!clang && (major == 0 || major >= oldest)) return "";
  return "the host compiler '" + compiler(options) + "' (" + version + ") cannot compile kernels, which need g++ " +
         std::to_string(oldest) + " or later; run `apt-get install g++-" + std::to_string(oldest) +
         "` and name it in TORCH_CUDAAGENT_CXX";
}

struct Asked {
  std::string version, absence;  ///< one of them is empty
};

/// What a compiler says of itself, asked once a process.
Asked ask_version(const Options& options) {
  static std::mutex mutex;
  static std::map<std::string, Asked> known;
  std::lock_guard lock(mutex);
  auto [it, fresh] = known.try_emplace(compiler(options));
  if (fresh) {
    Finished run = run_process({compiler(options), "--version"}, compiler_environment("/tmp"), 10);
    const bool well = run.started && run.exit_code == 0;
    (well ? it->second.version : it->second.absence) = first_line(run.output);
    if (!well)
      it->second.absence = missing_compiler(options, it->second.absence);
    else
      it->second.absence = unfit(options, it->second.version);
    if (!it->second.absence.empty()) it->second.version.clear();
  }
  return it->second;
}

}  // namespace

std::string host_compiler_version(const Options& options) { return ask_version(options).version; }
std::string host_compiler_absence(const Options& options) { return ask_version(options).absence; }

std::string host_toolchain(const Options& options) {
  std::string key = host_compiler_version(options) + "\n" + processor_features();
  for (const std::string& flag : compile_flags()) key += "\n" + flag;
  for (const std::string& flag : link_flags()) key += "\n" + flag;
  return key;
}

Outcome<Binary> compile_host(const codegen::Source& source, const Options& options, double limit_s) {
  auto start = std::chrono::steady_clock::now();
  if (const std::string absence = host_compiler_absence(options); !absence.empty()) throw UserError(absence);
  TempFolder folder;
  std::string input = folder.file("kernel.cpp"), output = folder.file("kernel.so");
  write_file(input, source.text);

  std::vector<std::string> argv = {compiler(options)};
  argv.insert(argv.end(), compile_flags().begin(), compile_flags().end());
  if (!options.prelude_dir.empty()) argv.push_back("-I" + options.prelude_dir);
  argv.insert(argv.end(), {input, "-o", output});
  argv.insert(argv.end(), link_flags().begin(), link_flags().end());

  Finished run = run_process(argv, compiler_environment(folder.path()), limit_s);
  erase_all(run.output, folder.path() + "/");
  if (!run.started) throw UserError(missing_compiler(options, run.output));
  if (run.timed_out) return refused("g++ passed its limit of " + std::to_string(limit_s) + " s", run, source);
  if (run.exit_code == 127) throw UserError(missing_compiler(options, first_line(run.output)));
  if (run.exit_code != 0 && run.output.find("No space left on device") != std::string::npos) {
    throw UserError("no space is left for g++ where temporary files go; free some or set TMPDIR to another folder");
  }
  if (run.exit_code != 0 || !std::filesystem::exists(output)) {
    return refused("g++ refused the source (exit " + std::to_string(run.exit_code) + ")", run, source);
  }
  Binary binary;
  binary.language = codegen::Language::host;
  binary.arch = "native";
  binary.image = read_file(output);
  binary.log = run.output;
  binary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return binary;
}

}  // namespace cudaagent::jit
