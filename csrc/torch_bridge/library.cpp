// torch.ops.cudaagent: everything Python calls. Loaded with torch.ops.load_library; no Python in it.
#include <torch/headeronly/version.h>
#include <torch/library.h>

#include "pipeline_workshop.h"
#include "profile/profile.h"
#include "torch_bridge/aten_host.h"
#include "torch_bridge/aten_types.h"
#include "torch_bridge/cache_ops.h"
#include "torch_bridge/dispatch_guards.h"
#include "torch_bridge/errors.h"
#include "torch_bridge/programs.h"
#include "torch_bridge/run_op.h"

namespace cudaagent::bridge {

namespace {

std::int64_t compile(std::string graph_json, std::string options_json, c10::List<bool> bound) {
  return translate_errors([&] {
    const auto graph = parse_json(graph_json, "the graph").get<ir::Graph>();
    const Options options = options_from_json(parse_json(options_json, "the options"));
    const PlainDispatch plain;
    auto loaded = std::make_shared<LoadedProgram>();
    loaded->device = cudaagent::device_of(graph);
    Optimized optimized = optimize(graph, std::vector<bool>(bound.begin(), bound.end()), options, AtenHost::get());
    loaded->program = std::move(optimized.program);
    loaded->report = optimized.report.dump(-1, ' ', false, Json::error_handler_t::replace);
    return Programs::get().add(std::move(loaded));
  });
}

void bind(std::int64_t handle, c10::List<at::Tensor> bound) {
  translate_errors([&] {
    const std::shared_ptr<LoadedProgram> loaded = Programs::get().find(handle);
    std::vector<Tensor> tensors;
    tensors.reserve(bound.size());
    for (const at::Tensor& tensor : bound) tensors.push_back(from_aten(tensor));
    loaded->program->bind(tensors);
    loaded->bound.store(std::make_shared<const std::vector<Tensor>>(std::move(tensors)));
  });
}

std::string report(std::int64_t handle) {
  return translate_errors([&] { return Programs::get().find(handle)->report; });
}

void release(std::int64_t handle) { Programs::get().release(handle); }

std::string compile_graph_only(std::string graph_json, std::string options_json) {
  return translate_errors([&] {
    const auto graph = parse_json(graph_json, "the graph").get<ir::Graph>();
    const Options options = options_from_json(parse_json(options_json, "the options"));
    return compile_only(graph, options).dump(-1, ' ', false, Json::error_handler_t::replace);
  });
}

std::string plan_graph_only(std::string graph_json, std::string options_json) {
  return translate_errors([&] {
    const auto graph = parse_json(graph_json, "the graph").get<ir::Graph>();
    const Options options = options_from_json(parse_json(options_json, "the options"));
    return plan_only(graph, options).dump(-1, ' ', false, Json::error_handler_t::replace);
  });
}

std::string node_costs(std::string graph_json, std::string ceilings_json) {
  return translate_errors([&] {
    const auto graph = parse_json(graph_json, "the graph").get<ir::Graph>();
    const auto ceilings = parse_json(ceilings_json, "the ceilings").get<profile::Ceilings>();
    return Json{{"nodes", profile::costs(graph)},
                {"floors", profile::floors(graph, ceilings)},
                {"fused", profile::fused_cost(graph)},
                {"fused_floor", profile::fused_floor(graph, ceilings)}}
        .dump();
  });
}

std::string survey(std::string options_json) {
  return translate_errors([&] {
    const Options options = options_from_json(parse_json(options_json, "the options"));
    return jit::survey(options).dump(-1, ' ', false, Json::error_handler_t::replace);
  });
}

// The options as the environment completes them.
std::string complete_options(std::string options_json) {
  return translate_errors([&] { return Json(options_from_json(parse_json(options_json, "the options"))).dump(); });
}

std::string version() { return Json{{"codegen", codegen::version()}, {"torch", TORCH_VERSION}}.dump(); }

}  // namespace

TORCH_LIBRARY(cudaagent, library) {
  library.def("compile(str graph_json, str options_json, bool[] bound) -> int", &compile);
  library.def("compile_only(str graph_json, str options_json) -> str", &compile_graph_only);
  library.def("plan_only(str graph_json, str options_json) -> str", &plan_graph_only);
  library.def("report(int handle) -> str", &report);
  library.def("release(int handle) -> ()", &release);
  library.def("node_costs(str graph_json, str ceilings_json) -> str", &node_costs);
  library.def("survey(str options_json) -> str", &survey);
  library.def("options(str options_json) -> str", &complete_options);
  library.def("version() -> str", &version);
  library.def("cache_list(str dir, str[] layers) -> str", &cache_list);
  library.def("cache_verify(str dir, str[] layers, bool remove) -> str", &cache_verify);
  library.def("cache_get(str dir, str[] fields) -> str", &cache_get);
  library.def("cache_put(str dir, str[] fields, str payload) -> bool", &cache_put);
  library.def("cache_gc(str dir, str[] layers, int max_bytes) -> int", &cache_gc);
  library.def("bind(int handle, Tensor[] bound) -> ()");
  library.def("run(int handle, Tensor[] inputs) -> Tensor?[]");
  library.def("interpret(str graph_json, Tensor[] inputs) -> Tensor?[]");
  library.def("profile_nodes(str graph_json, Tensor[] inputs, int calls) -> str");
}

TORCH_LIBRARY_IMPL(cudaagent, CompositeExplicitAutograd, library) {
  library.impl("bind", &bind);
  library.impl("run", torch::CppFunction::makeFromBoxedFunction<&run_program>());
  library.impl("interpret", torch::CppFunction::makeFromBoxedFunction<&interpret_graph>());
  library.impl("profile_nodes", torch::CppFunction::makeFromBoxedFunction<&profile_nodes>());
}

// `run` refuses gradients itself, bound parameters included, which a kernel of the Autograd key would not see.
TORCH_LIBRARY_IMPL(cudaagent, Autograd, library) {
  library.impl("bind", torch::CppFunction::makeFallthrough());
  library.impl("run", torch::CppFunction::makeFallthrough());
  library.impl("interpret", torch::CppFunction::makeFallthrough());
  library.impl("profile_nodes", torch::CppFunction::makeFallthrough());
}

}  // namespace cudaagent::bridge
