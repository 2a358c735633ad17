"""optimize, explain, disable, the backend's name, options and their errors, nesting, graph breaks."""

from __future__ import annotations

import copy
import functools
import json
import pathlib
import subprocess
import sys

import pytest
import torch
from checks import assert_captured, assert_same, graphs
from conftest import PYTHON_CORE, ROOT
from torch import nn

import torch_cudaagent as cudaagent
from torch_cudaagent import backend, library


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


X = torch.randn(5, 4)


def test_function(optimize):
    fast = optimize(lambda x: x.relu() + 1)
    with torch.no_grad():
        assert_same(fast(X), X.relu() + 1)
    assert_captured(fast)


def test_decorator(optimize):
    @cudaagent.optimize
    def plain(x):
        """Doc."""
        return x * 2

    @cudaagent.optimize(precision="high", measure=False)
    def chosen(x, *, add=0):
        return x * 2 + add

    assert plain.__name__ == "plain" and plain.__doc__ == "Doc."
    with torch.no_grad():
        assert_same(plain(X), X * 2)
        assert_same(chosen(X, add=3), X * 2 + 3)
    assert_captured(plain)


def test_decorated_method(optimize):
    class Model:
        scale = 3

        @functools.partial(cudaagent.optimize, measure=False)
        def apply(self, x):
            return x * self.scale

    with torch.no_grad():
        assert_same(Model().apply(X), X * 3)


def test_bound_method(optimize):
    module = net()
    fast = optimize(module.forward)
    with torch.no_grad():
        assert_same(fast(X), module(X))


def test_alias_package():
    import cudaagent as alias

    assert alias.optimize is cudaagent.optimize and alias.__version__ == cudaagent.__version__
    assert set(alias.__all__) == set(cudaagent.__all__)


def test_backend_by_name():
    module = net()
    fast = torch.compile(copy.deepcopy(module), backend="cudaagent", options={"measure": False})
    with torch.no_grad():
        assert_same(fast(X), module(X))
        assert_same(fast(X), module(X))
    seen = graphs(fast)
    assert len(seen) == 1 and seen[0]["why_eager"] is None
    assert "cudaagent" in torch._dynamo.list_backends()


def test_backend_in_the_entry_points_group():
    from importlib.metadata import entry_points

    points = [point for point in entry_points(group="torch_dynamo_backends") if point.name == "cudaagent"]
    if not points:
        pytest.skip("the package is not installed, only on the path")
    assert points[0].load() is backend.cudaagent_backend


def test_backend_leaves_recurrent_layers_whole():
    lstm = nn.LSTM(4, 3)
    fast = torch.compile(copy.deepcopy(lstm), backend="cudaagent", options={"measure": False})
    with torch.no_grad():
        assert_same(fast(X), lstm(X))
    assert torch._dynamo.config.allow_rnn is False


def test_backend_errors():
    with pytest.raises(Exception, match="has no mode 'max-autotune'"):
        torch.compile(net(), backend="cudaagent", mode="max-autotune")(X)
    with pytest.raises(Exception, match="no option 'speed'"):
        torch.compile(net(), backend="cudaagent", options={"speed": 1})(X)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"precision": "low"}, 'use "highest", "high" or "medium"'),
        ({"precision": None}, 'use "highest", "high" or "medium"'),
        ({"verify": 1}, "use True or False"),
        ({"freeze": "yes"}, "use True or False"),
        ({"seed": -1}, "integer that is not negative"),
        ({"dynamic": 2}, "use None, True or False"),
        ({"dynamic": 1}, "use None, True or False"),
        ({"cache_dir": 3}, "use a string or None"),
        ({"speed": "high"}, "no option 'speed'; its options are precision"),
    ],
)
def test_wrong_options(options, said):
    with pytest.raises(cudaagent.UserError, match=said):
        cudaagent.optimize(net(), **options)
    with pytest.raises(ValueError, match=said):
        cudaagent.optimize(**options)


@pytest.mark.parametrize("thing", [3, "model", nn.Linear, [nn.ReLU()]])
def test_wrong_model(thing):
    with pytest.raises(cudaagent.UserError, match=r"takes a torch\.nn\.Module or a function"):
        cudaagent.optimize(thing)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_scripted_module():
    with pytest.raises(cudaagent.UserError, match=r"from before torch\.jit\.script"):
        cudaagent.optimize(torch.jit.script(nn.Linear(2, 2)))


def test_disable_context(optimize):
    fast = optimize(net())
    with torch.no_grad(), cudaagent.disable():
        assert_same(fast(X), nn.Sequential(*fast)(X))
    assert graphs(fast) == []
    with torch.no_grad():
        fast(X)
    assert_captured(fast)


def test_disable_module(optimize):
    fast = optimize(net())
    assert cudaagent.disable(fast) is fast
    with torch.no_grad():
        fast(X)
    assert not cudaagent.explain(fast).to_dict()["optimized"]
    assert vars(fast).keys() == vars(net()).keys()


def test_disable_function(optimize):
    seen = []

    @cudaagent.disable
    def plain(x):
        seen.append(type(x))
        return x + 1

    fast = optimize(lambda x: plain(x * 2) * 3)
    with torch.no_grad():
        for _ in range(2):
            assert_same(fast(X), (X * 2 + 1) * 3)
    assert len(seen) == 2
    assert_captured(fast, count=2)
    with pytest.raises(cudaagent.UserError, match="disable"):
        cudaagent.disable(3)


def test_disabled_by_the_environment():
    code = (
        "import torch, torch_cudaagent as c\n"
        "m = torch.nn.Linear(2, 2)\n"
        "before = dict(vars(m))\n"
        "assert c.optimize(m) is m and vars(m) == before\n"
        "f = lambda x: x + 1\n"
        "assert c.optimize(f) is f\n"
        "with torch.no_grad(): torch.compile(m, backend='cudaagent')(torch.ones(1, 2))\n"
        "from torch_cudaagent.backend import compiled_records\n"
        "assert not compiled_records\n"
    )
    environment = {"TORCH_CUDAAGENT_DISABLE": "1", "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=300)


def test_explain_before_and_after(optimize):
    assert "not optimized" in str(cudaagent.explain(net()))
    fast = optimize(net())
    assert "call it once" in str(cudaagent.explain(fast))
    with torch.no_grad():
        fast(X)
    text = str(cudaagent.explain(fast))
    assert "graph 1" in text and "linear" in text
    document = cudaagent.explain(fast).to_dict()
    assert json.loads(json.dumps(document)) == document
    assert document["totals"]["graphs"] == 1 and document["totals"]["graphs_in_pytorch"] == 0


def test_explain_shows_sources(optimize):
    if PYTHON_CORE:
        pytest.skip("the interpreter generates nothing")
    fast = optimize(nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8)))
    with torch.no_grad():
        fast(torch.randn(64, 4))
    brief, full = str(cudaagent.explain(fast)), str(cudaagent.explain(fast, verbosity=2))
    assert "generated" in brief and "error on" in brief
    assert "      | " in full and "      | " not in brief


def test_explain_measures_the_share_of_generated_kernels(optimize):
    if PYTHON_CORE:
        pytest.skip("the interpreter generates nothing")
    fast = optimize(nn.Sequential(nn.GELU(), nn.LayerNorm(256)))
    explanation = cudaagent.explain(fast, inputs=(torch.randn(512, 256),))
    assert 0.1 < explanation.share <= 1
    assert "share of time in generated kernels" in str(explanation)
    assert explanation.to_dict()["totals"]["share_of_time_generated"] == explanation.share


def test_explain_says_why(optimize):
    fast = optimize(net())
    fast(X)
    assert "it needs gradients" in str(cudaagent.explain(fast))


def test_optimized_inside_torch_compile(optimize):
    model = nn.Sequential(optimize(net()), nn.Tanh())
    reference = copy.deepcopy(model)
    cudaagent.disable(reference)
    outer = torch.compile(model, backend="eager")
    with torch.no_grad():
        for _ in range(2):
            assert_same(outer(X), reference(X))
    function = optimize(lambda x: x * 2)
    outer = torch.compile(lambda x: function(x) + 1, backend="eager")
    with torch.no_grad():
        assert_same(outer(X), X * 2 + 1)


def test_torch_compile_of_an_optimized_module(optimize):
    fast, slow = optimize(net()), net()
    slow.load_state_dict(fast.state_dict())
    outer = torch.compile(fast, backend="aot_eager")
    with torch.no_grad():
        assert_same(outer(X), slow(X))


def test_torch_compile_inside_optimized(optimize):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = torch.compile(net(), backend="eager"), nn.Linear(2, 3)

        def forward(self, x):
            return self.outer(self.inner(x)).relu()

    fast = optimize(Model())
    with torch.no_grad():
        assert_same(fast(X), fast.outer(fast.inner._orig_mod(X)).relu())


def test_optimized_inside_optimized(optimize):
    inner = optimize(net())
    fast = optimize(nn.Sequential(inner, nn.Tanh()))
    with torch.no_grad():
        got = fast(X)
        with cudaagent.disable():
            assert_same(got, fast(X))


def test_graph_break(optimize):
    seen = []

    def function(x):
        y = x.relu() + 1
        seen.append(float(y.sum()))
        if y.sum() > 0:
            y = y * 2
        print(end="")
        return y.exp().sum(-1)

    fast = optimize(function)
    with torch.no_grad():
        for _ in range(2):
            assert_same(fast(X), ((X.relu() + 1) * 2).exp().sum(-1))
    assert len(seen) == 2
    assert len(graphs(fast)) >= 2
    assert_captured(fast)


def test_data_dependent_operators(optimize):
    def function(x):
        return x[x > 0] * 2, x.nonzero(), torch.unique(x.round())

    fast = optimize(function)
    with torch.no_grad():
        assert_same(fast(X), function(X))


def test_error_in_the_model_is_the_models_own(optimize):
    fast = optimize(net())
    with torch.no_grad():
        with pytest.raises(RuntimeError, match=r"^mat1 and mat2 shapes cannot be multiplied \(5x3 and 4x8\)$"):
            fast(torch.randn(5, 3))
        assert_same(fast(X), nn.Sequential(*fast)(X))


def test_custom_operator(optimize):
    @torch.library.custom_op("cudaagent_tests::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    twice.register_fake(lambda x: torch.empty_like(x))
    fast = optimize(lambda x: twice(x + 1) * 3)
    with torch.no_grad():
        for _ in range(2):
            assert_same(fast(X), (X + 1) * 2 * 3)
    assert_captured(fast)


def test_higher_order_operator_stays_right(optimize):
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    fast = optimize(function)
    with torch.no_grad():
        for x in (torch.ones(3), -torch.ones(3)):
            assert_same(fast(x), function(x))


def test_checkpoint(optimize):
    from torch.utils.checkpoint import checkpoint

    module = net()
    fast = optimize(lambda x: checkpoint(module, x, use_reentrant=False))
    with torch.no_grad():
        assert_same(fast(X), module(X))
    one = X.clone().requires_grad_()
    fast(one).sum().backward()
    other = X.clone().requires_grad_()
    module(other).sum().backward()
    assert_same(one.grad, other.grad)


def test_failure_inside_the_core_goes_to_pytorch(optimize, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError("cudaagent internal error: a promise broke")

    module = net()
    fast = optimize(copy.deepcopy(module))
    real = torch.ops.cudaagent.compile
    monkeypatch.setattr(torch.ops.cudaagent, "compile", broken)
    with torch.no_grad(), caplog.at_level("WARNING"):
        assert_same(fast(X), module(X))
        assert_same(fast(X), module(X))
    assert "a promise broke" in graphs(fast)[0]["why_eager"]
    assert sum("stays with PyTorch" in record.message for record in caplog.records) == 1
    monkeypatch.setattr(torch.ops.cudaagent, "compile", real)


def test_out_of_memory_then_retry(optimize, monkeypatch):
    """An operator that raises passes its error on; the next call is an ordinary one."""
    state = {"full": False}

    @torch.library.custom_op("cudaagent_tests::hungry", mutates_args=())
    def hungry(x: torch.Tensor) -> torch.Tensor:
        if state["full"]:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate a lot.")
        return x * 2

    hungry.register_fake(lambda x: torch.empty_like(x))
    fast = optimize(lambda x: hungry(x).relu() + 1)
    with torch.no_grad():
        assert_same(fast(X), (X * 2).relu() + 1)
        state["full"] = True
        with pytest.raises(torch.OutOfMemoryError):
            fast(X)
        state["full"] = False
        assert_same(fast(X), (X * 2).relu() + 1)
    assert_captured(fast)


def test_missing_library_is_one_clear_sentence(tmp_path):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nimport torch_cudaagent as c\nc.optimize(lambda x: x)\n"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"TORCH_CUDAAGENT_LIB_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1
    assert "libtorch_cudaagent.so is not in" in done.stderr.splitlines()[-1]


def test_library_of_another_torch(tmp_path, monkeypatch):
    (tmp_path / library.LIBRARY).write_bytes(b"")
    (tmp_path / "build.json").write_text(json.dumps({"torch": "2.3.0"}))
    monkeypatch.setattr(library, "folder", lambda: pathlib.Path(tmp_path))
    load = library.load.__wrapped__ if hasattr(library.load, "__wrapped__") else None
    if load is None:
        pytest.skip("the interpreter stands in for the library")
    with pytest.raises(cudaagent.UserError, match=r"built for torch 2\.3\.0"):
        load()


def test_nvrtc_of_torch_is_found():
    found = library.find_nvrtc()
    assert found is None or found.name.startswith("libnvrtc")


@pytest.mark.parametrize("kind", ["module", "function"])
def test_tracing_that_always_fails_is_given_up(optimize, monkeypatch, kind):
    tried = []

    def fails(*_, **__):
        tried.append(1)
        raise torch._dynamo.exc.InternalTorchDynamoError("a defect of Dynamo's")

    monkeypatch.setattr("torch_cudaagent.optimized.compile_function", lambda *_: fails)
    fast = optimize(net() if kind == "module" else lambda x: x + 1)
    for _ in range(9):
        fast(X)
    assert len(tried) == 3
    assert "a defect of Dynamo's" in str(cudaagent.explain(fast))


def test_wrong_shapes_do_not_count_as_tracing_that_fails(optimize):
    fast = optimize(net())
    with torch.no_grad():
        for _ in range(5):
            with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
                fast(torch.randn(5, 3))
        for _ in range(4):  # a second shape is compiled when it has come thrice
            fast(X)
    assert any(graph["programs"] for graph in graphs(fast))
