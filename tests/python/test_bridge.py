"""The native library as it is: operators called from a graph document, programs, guards, the dispatcher's modes."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import torch
from conftest import PYTHON_CORE

from torch_cudaagent import library
from torch_cudaagent.graph_json import literal

pytestmark = pytest.mark.skipif(
    PYTHON_CORE or not (library.folder() / library.LIBRARY).is_file(), reason="the native library is not under test"
)


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    library.load()


def describe(name: str, tensor: torch.Tensor) -> dict[str, Any]:
    return {
        "name": name,
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "dims": list(tensor.shape),
        "strides": list(tensor.stride()),
        "device": str(tensor.device),
    }


class Graph:
    """A graph document under construction. Tensors given to `node` are its inputs or earlier results."""

    def __init__(self, *inputs: torch.Tensor, kinds: Sequence[str] | None = None) -> None:
        self.inputs = list(inputs)
        self.known: list[torch.Tensor] = []
        self.document: dict[str, Any] = {"values": [], "inputs": [], "nodes": [], "outputs": [], "mutations": []}
        for position, tensor in enumerate(inputs):
            kind = kinds[position] if kinds else "user"
            self.document["inputs"].append({"value": self._value(tensor), "kind": kind, "target": f"t{position}"})

    def _value(self, tensor: torch.Tensor) -> int:
        self.known.append(tensor)
        self.document["values"].append(describe(f"v{len(self.known) - 1}", tensor))
        return len(self.known) - 1

    def id_of(self, tensor: torch.Tensor) -> int:
        return next(i for i, known in enumerate(self.known) if known is tensor)

    def argument(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return {"ref": self.id_of(value)}
        if isinstance(value, list | tuple):
            return [self.argument(item) for item in value]
        return literal(value)

    def node(self, op: str, /, **arguments: Any) -> Any:
        """Adds the call, and gives what eager gives for it."""
        namespace, name = op.split("::")
        base, _, overload = name.partition(".")
        eager = getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")(**arguments)
        flat: list[Any] = []
        for item in eager if isinstance(eager, list | tuple) else (eager,):
            flat.extend(item if isinstance(item, list | tuple) else (item,))
        args = [[key, self.argument(value)] for key, value in arguments.items()]
        outputs = [self._value(item) if isinstance(item, torch.Tensor) else None for item in flat]
        self.document["nodes"].append({"op": op, "args": args, "outputs": outputs})
        return flat[0] if len(flat) == 1 else flat

    def returns(self, *outputs: Any, alias_of: torch.Tensor | None = None) -> Graph:
        alias = None if alias_of is None else self.id_of(alias_of)
        for output in outputs:
            tensor = isinstance(output, torch.Tensor)
            entry = {"value": self.id_of(output), "alias_of": alias} if tensor else {"constant": self.argument(output)}
            self.document["outputs"].append(entry)
        return self

    def updates(self, target: torch.Tensor, value: torch.Tensor) -> Graph:
        self.document["mutations"].append({"input": self.id_of(target), "value": self.id_of(value)})
        return self

    @property
    def text(self) -> str:
        return json.dumps(self.document)

    def interpret(self) -> list[Any]:
        return torch.ops.cudaagent.interpret(self.text, self.inputs)


def check(op: str, /, **arguments: Any) -> None:
    """The operator called by the library gives what eager gives: values, dtype and strides, to the bit."""
    tensors: list[torch.Tensor] = []
    for value in arguments.values():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, torch.Tensor) and not any(item is known for known in tensors):
                tensors.append(item)
    graph = Graph(*tensors)
    torch.manual_seed(1)
    expected = graph.node(op, **arguments)
    expected = [item for item in (expected if isinstance(expected, list) else [expected]) if item is not None]
    graph.returns(*expected)
    torch.manual_seed(1)
    for actual, wanted in zip(graph.interpret(), expected, strict=True):
        torch.testing.assert_close(actual, wanted, rtol=0, atol=0, equal_nan=True, check_stride=True)


X = torch.linspace(-2, 2, 24).reshape(2, 3, 4)
IMAGE = torch.linspace(-1, 1, 2 * 3 * 8 * 8).reshape(2, 3, 8, 8)
COUNT = torch.arange(3)

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "scalar int": ("aten::add.Tensor", {"self": X, "other": X, "alpha": 2}),
    "scalar float": ("aten::leaky_relu", {"self": X, "negative_slope": 0.25}),
    "scalar bool": ("aten::full", {"size": [2], "fill_value": True}),
    "scalar complex": ("aten::add.Scalar", {"self": X, "other": 1 + 2j}),
    "scalar infinite": ("aten::masked_fill.Scalar", {"self": X, "mask": X > 0, "value": float("-inf")}),
    "scalar optional": ("aten::clamp", {"self": X, "min": None, "max": 0.5}),
    "scalar in optional dtype": ("aten::full", {"size": [2, 2], "fill_value": 1, "dtype": torch.float16}),
    "wrapped float on int": ("aten::mul.Tensor", {"self": COUNT, "other": 0.5}),
    "wrapped int on half": ("aten::add.Tensor", {"self": X.half(), "other": 3}),
    "wrapped float on half": ("aten::mul.Tensor", {"self": X.half(), "other": 0.1}),
    "wrapped bool": ("aten::add.Tensor", {"self": COUNT, "other": True}),
    "wrapped complex": ("aten::mul.Tensor", {"self": X, "other": 2j}),
    "tensor 0-d is no wrapped number": ("aten::mul.Tensor", {"self": COUNT, "other": torch.tensor(0.5).double()}),
    "optional tensor list": ("aten::index.Tensor", {"self": X, "indices": [None, COUNT.flip(0), None]}),
    "optional tensor list, two": ("aten::index.Tensor", {"self": X, "indices": [torch.tensor([1, 0]), COUNT[:2]]}),
    "tensor list": ("aten::cat", {"tensors": [X, X, X + 1], "dim": 1}),
    "tensor list result": ("aten::split.Tensor", {"self": X, "split_size": 2, "dim": 2}),
    "ints": ("aten::permute", {"self": X, "dims": [2, 0, 1]}),
    "one int for a pair": ("aten::avg_pool2d", {"self": IMAGE, "kernel_size": 2}),
    "one int in a list for a pair": ("aten::avg_pool2d", {"self": IMAGE, "kernel_size": [2], "stride": [1, 2]}),
    "empty optional ints": ("aten::sum.dim_IntList", {"self": X, "dim": None, "keepdim": False}),
    "one int for ints": ("aten::sum.dim_IntList", {"self": X, "dim": [1], "keepdim": True, "dtype": torch.float64}),
    "optional floats": (
        "aten::upsample_nearest2d.vec",
        {"input": IMAGE, "output_size": None, "scale_factors": [2.0, 1.5]},
    ),
    "symbolic ints": ("aten::as_strided", {"self": X, "size": [3, 2], "stride": [1, 4], "storage_offset": 1}),
    "bools": (
        "aten::convolution_backward",
        {
            "grad_output": IMAGE[:, :2, 2:, 2:].contiguous(),
            "input": IMAGE,
            "weight": IMAGE[:, :, :3, :3].contiguous(),
            "bias_sizes": [2],
            "stride": [1, 1],
            "padding": [0, 0],
            "dilation": [1, 1],
            "transposed": False,
            "output_padding": [0, 0],
            "groups": 1,
            "output_mask": [True, False, True],
        },
    ),
    "optional tensor left out": ("aten::linear", {"input": X, "weight": X[0]}),
    "optional tensor none": ("aten::linear", {"input": X, "weight": X[0], "bias": None}),
    "string": ("aten::gelu", {"self": X, "approximate": "tanh"}),
    "string optional": ("aten::div.Tensor_mode", {"self": X, "other": 0.3, "rounding_mode": "floor"}),
    "string none": ("aten::div.Tensor_mode", {"self": X, "other": 0.3, "rounding_mode": None}),
    "string equation": ("aten::einsum", {"equation": "abc,abd->acd", "tensors": [X, X]}),
    "dtype": ("aten::to.dtype", {"self": X, "dtype": torch.bfloat16}),
    "dtype, layout, device": (
        "aten::arange.start_step",
        {
            "start": 0,
            "end": 5,
            "step": 2,
            "dtype": torch.int32,
            "layout": torch.strided,
            "device": torch.device("cpu"),
            "pin_memory": False,
        },
    ),
    "memory format": ("aten::clone", {"self": IMAGE, "memory_format": torch.channels_last}),
    "preserved format": (
        "aten::_to_copy",
        {
            "self": IMAGE.contiguous(memory_format=torch.channels_last),
            "dtype": torch.float64,
            "memory_format": torch.preserve_format,
        },
    ),
    "generator none": ("aten::rand", {"size": [4], "dtype": torch.float32}),
    "several results": (
        "aten::native_layer_norm",
        {"input": X, "normalized_shape": [4], "weight": None, "bias": None, "eps": 1e-5},
    ),
    "sort": ("aten::sort.stable", {"self": X, "stable": True, "dim": -1, "descending": True}),
    "complex tensor": ("aten::mul.Tensor", {"self": torch.complex(X, X), "other": torch.complex(X, -X)}),
    "complex view": ("aten::view_as_real", {"self": torch.complex(X, X)}),
    "lazy conjugate": ("aten::conj", {"self": torch.complex(X, X)}),
    "zero sizes": ("aten::sum", {"self": torch.empty(0, 3)}),
    "named default": ("aten::relu.default", {"self": X}),
    "lstm": (
        "aten::lstm.input",
        {
            "input": X,
            "hx": [torch.zeros(1, 3, 2), torch.zeros(1, 3, 2)],
            "params": [torch.full((8, 4), 0.1), torch.full((8, 2), 0.2), torch.zeros(8), torch.zeros(8)],
            "has_biases": True,
            "num_layers": 1,
            "dropout": 0.0,
            "train": False,
            "bidirectional": False,
            "batch_first": False,
        },
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_reach_the_operator_as_eager_passes_them(name: str) -> None:
    op, arguments = CALLS[name]
    check(op, **arguments)


@pytest.mark.parametrize(
    "dtype",
    [
        "float32",
        "float64",
        "float16",
        "bfloat16",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "bool",
        "complex64",
        "complex128",
        "uint16",
        "uint32",
        "uint64",
        "float8_e4m3fn",
        "float8_e5m2",
    ],
)
def test_every_dtype_passes_through(dtype: str) -> None:
    check("aten::clone", self=torch.tensor([0, 1, 1]).to(getattr(torch, dtype)))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"op": "aten::no_such_op"}, "aten::no_such_op is not registered"),
        ({"args": [["self", {"ref": 0}], ["wrong", 1]]}, "no argument named wrong"),
        ({"args": []}, "needs its argument self"),
        ({"args": [["self", {"s": "text"}]]}, "argument self"),
    ],
)
def test_a_bad_call_is_a_value_error_of_one_sentence(edit: dict[str, Any], message: str) -> None:
    graph = Graph(X)
    graph.returns(graph.node("aten::relu", self=X))
    graph.document["nodes"][0].update(edit)
    with pytest.raises(ValueError, match=message) as caught:
        graph.interpret()
    assert "\n" not in str(caught.value)


def test_errors_of_an_operator_pass_through() -> None:
    graph = Graph(X)
    graph.returns(graph.node("aten::permute", self=X, dims=[0, 1, 2]))
    graph.document["nodes"][0]["args"][1][1] = [0, 0, 1]
    with pytest.raises(RuntimeError, match="permute"):
        graph.interpret()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"values": 3}'])
def test_what_is_no_graph_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]+$"):
        torch.ops.cudaagent.interpret(text, [])


class Program:
    """A compiled graph, released with the object. Unproved and unmeasured: the bridge is under test, not the judge."""

    def __init__(self, graph: Graph, bound: list[torch.Tensor] | None = None) -> None:
        flags = [any(tensor is weight for weight in bound or []) for tensor in graph.inputs]
        options = json.dumps({**library.paths(), "verify": False, "measure": False})
        self.handle = torch.ops.cudaagent.compile(graph.text, options, flags)
        if bound:
            torch.ops.cudaagent.bind(self.handle, bound)

    def __call__(self, *inputs: torch.Tensor) -> list[Any]:
        return torch.ops.cudaagent.run(self.handle, list(inputs))

    def __del__(self) -> None:
        torch.ops.cudaagent.release(self.handle)


@pytest.fixture
def _no_grad() -> Iterator[None]:
    with torch.no_grad():
        yield


def softmax_graph(x: torch.Tensor, weight: torch.Tensor) -> Graph:
    graph = Graph(x, weight, kinds=["user", "parameter"])
    scaled = graph.node("aten::mul.Tensor", self=x, other=weight)
    return graph.returns(graph.node("aten::softmax.int", self=scaled, dim=-1), 7, None)


def test_constants_come_back_as_none() -> None:
    x, weight = torch.randn(5, 6), torch.randn(6)
    program = Program(softmax_graph(x, weight), [weight])
    result, seven, none = program(x)
    torch.testing.assert_close(result, (x * weight).softmax(-1))
    assert seven is None and none is None


def test_binding_again_and_writing_in_place_take_effect() -> None:
    x, weight = torch.randn(5, 6), torch.randn(6)
    program = Program(softmax_graph(x, weight), [weight])
    weight.mul_(3)
    torch.testing.assert_close(program(x)[0], (x * weight).softmax(-1))
    weight.data = torch.randn(6)
    torch.testing.assert_close(program(x)[0], (x * weight).softmax(-1))
    other = torch.randn(6)
    torch.ops.cudaagent.bind(program.handle, [other])
    torch.testing.assert_close(program(x)[0], (x * other).softmax(-1))


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.double(),
        lambda x: x[:3],
        lambda x: x.t().contiguous().t(),
        lambda x: x.unsqueeze(0),
        lambda x: x.to_sparse(),
    ],
)
def test_another_input_fails_the_guard(change: Any) -> None:
    x, weight = torch.randn(5, 6), torch.randn(6)
    program = Program(softmax_graph(x, weight), [weight])
    with pytest.raises(RuntimeError, match=r"^cudaagent guard: input t0 is .*, the program was built for f32\[5, 6\]"):
        program(change(x))


def test_a_lazy_negation_is_resolved() -> None:
    x, weight = torch.randn(5, 6), torch.randn(6)
    negated = torch.complex(x, x).conj().imag
    assert negated.is_neg()
    program = Program(softmax_graph(x, weight), [weight])
    torch.testing.assert_close(program(negated)[0], (-x * weight).softmax(-1))


def test_odd_addresses_are_no_guard_failure() -> None:
    storage = torch.randn(31)
    x, weight = storage[1:].reshape(5, 6), torch.randn(7)[1:]
    program = Program(softmax_graph(x, weight), [weight])
    torch.testing.assert_close(program(x)[0], (x * weight).softmax(-1))


def counter_graph(x: torch.Tensor, state: torch.Tensor) -> Graph:
    graph = Graph(x, state, kinds=["user", "buffer"])
    total = graph.node("aten::add.Tensor", self=state, other=x)
    return graph.returns(graph.node("aten::mul.Tensor", self=total, other=2)).updates(state, total)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_updates_are_written_and_counted(mode: Any) -> None:
    x, state = torch.ones(3), torch.zeros(3)
    program = Program(counter_graph(x, state), [state])
    version = state._version
    with mode():
        outputs = [program(x)[0].clone() for _ in range(3)]
    assert state.tolist() == [3, 3, 3]
    assert [output[0].item() for output in outputs] == [2, 4, 6]
    assert state._version > version


def test_overlap_with_an_updated_input_fails_the_guard_and_writes_nothing() -> None:
    state = torch.zeros(3)
    program = Program(counter_graph(torch.ones(3), state), [state])
    with pytest.raises(RuntimeError, match=r"^cudaagent guard: .*shares memory"):
        program(state)
    assert state.tolist() == [0, 0, 0]


def test_an_output_that_aliases_shares_memory_and_versions() -> None:
    storage = torch.arange(12.0)
    x = storage[4:]
    graph = Graph(x)
    view = graph.node("aten::view", self=x, size=[2, 4])
    program = Program(graph.returns(x, graph.node("aten::t", self=view), alias_of=x))
    same, view = program(x)
    assert same is x
    assert view.data_ptr() == x.data_ptr() and view.stride() == (1, 4)
    version = x._version
    view.add_(1)
    assert x._version > version and storage[4].item() == 5


def test_gradients_are_refused_not_lost() -> None:
    x, weight = torch.randn(5, 6), torch.randn(6, requires_grad=True)
    program = Program(softmax_graph(x, weight.detach()), None)
    with pytest.raises(RuntimeError, match="records no gradients"):
        program(x, weight)
    bound = torch.randn(6)
    program = Program(softmax_graph(x, bound), [bound])
    program(x)
    bound.requires_grad_()
    with pytest.raises(RuntimeError, match="records no gradients"):
        program(x)
    with torch.no_grad():
        assert not program(x)[0].requires_grad


def test_autocast_outside_leaves_the_captured_types_alone() -> None:
    a, b = torch.randn(4, 4), torch.randn(4, 4)
    graph = Graph(a, b)
    program = Program(graph.returns(graph.node("aten::mm", self=a, mat2=b)))
    with torch.autocast("cpu", torch.bfloat16):
        assert program(a, b)[0].dtype == torch.float32


def test_inference_mode_gives_inference_tensors() -> None:
    x, weight = torch.randn(5, 6), torch.randn(6)
    program = Program(softmax_graph(x, weight), [weight])
    with torch.inference_mode():
        result = program(x)[0]
    assert result.is_inference()
    torch.testing.assert_close(result, (x * weight).softmax(-1))


def test_a_dispatch_mode_sees_one_operator() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Spy(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x, weight = torch.randn(5, 6), torch.randn(6)
    program = Program(softmax_graph(x, weight), [weight])
    with Spy():
        result = program(x)[0]
    assert seen == ["cudaagent.run.default"]
    torch.testing.assert_close(result, (x * weight).softmax(-1))


def test_random_operators_draw_as_eager_does() -> None:
    graph = Graph()
    program = Program(graph.returns(graph.node("aten::rand", size=[8]), graph.node("aten::randn", size=[8])))
    torch.manual_seed(3)
    expected = [torch.rand(8), torch.randn(8)]
    torch.manual_seed(3)
    for actual, wanted in zip(program(), expected, strict=True):
        assert torch.equal(actual, wanted)


def test_threads_share_a_program_and_a_release_waits_for_them() -> None:
    x, weight = torch.randn(64, 64), torch.randn(64)
    program = Program(softmax_graph(x, weight), [weight])
    expected, wrong = (x * weight).softmax(-1), []

    def work() -> None:
        for _ in range(50):
            try:
                torch.testing.assert_close(program(x)[0], expected)
            except ValueError as released:
                assert "not loaded" in str(released)
                return
            except AssertionError as error:
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    torch.ops.cudaagent.release(program.handle)
    for thread in threads:
        thread.join()
    assert not wrong
    with pytest.raises(ValueError, match="not loaded"):
        program(x)


def gelu_program(x: torch.Tensor) -> tuple[Program, str]:
    graph = Graph(x)
    program = Program(graph.returns(graph.node("aten::gelu", self=x)))
    (region,) = json.loads(torch.ops.cudaagent.report(program.handle))["regions"]
    assert region["kind"] == "generated"
    return program, region["name"]


def test_kernels_carry_their_names_in_the_profiler() -> None:
    x = torch.randn(64, 64)
    program, name = gelu_program(x)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        program(x)
    assert name in {event.key for event in profiler.key_averages()}


def test_kernels_run_on_the_threads_of_torch() -> None:
    x = torch.randn(1 << 22)
    program, _ = gelu_program(x)
    others = {}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        program(x)
        everyone, here = time.process_time(), time.thread_time()
        for _ in range(5):
            program(x)
        here = time.thread_time() - here
        others[threads] = (time.process_time() - everyone - here) / here
    # On a busy machine the waiting for the other thread counts too.
    assert others[1] < 0.1 and others[2] > 0.15


def test_large_results_use_their_memory_again_and_only_when_it_is_free() -> None:
    x = torch.randn(1 << 24)  # 64 MiB, which malloc would map anew at every call
    program, _ = gelu_program(x)
    torch.set_num_threads(1)
    kept = program(x)[0]
    expected = torch.nn.functional.gelu(x)
    address = program(x)[0].data_ptr()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    assert program(x)[0].data_ptr() == address
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults < 1000
    assert kept.data_ptr() != address
    torch.testing.assert_close(kept, expected)
    kept.resize_(1 << 25)
    torch.testing.assert_close(kept[: 1 << 24], expected)


def test_report_options_survey_and_version_are_json() -> None:
    x, weight = torch.randn(5, 6), torch.randn(6)
    program = Program(softmax_graph(x, weight), [weight])
    assert "regions" in json.loads(torch.ops.cudaagent.report(program.handle))
    options = json.dumps(library.paths())
    assert json.loads(torch.ops.cudaagent.options(options))["precision"] == "highest"
    assert isinstance(json.loads(torch.ops.cudaagent.survey(options)), dict)
    version = json.loads(torch.ops.cudaagent.version())
    assert torch.__version__.startswith(".".join(version["torch"].split(".")[:2]))
    with pytest.raises(ValueError, match="no_such_option"):
        torch.ops.cudaagent.options('{"no_such_option": 1}')


def test_cache_upkeep(tmp_path: Any) -> None:
    assert json.loads(torch.ops.cudaagent.cache_list(str(tmp_path), [])) == []
    assert json.loads(torch.ops.cudaagent.cache_verify(str(tmp_path), [str(tmp_path / "layer")], False)) == []
    assert torch.ops.cudaagent.cache_gc(str(tmp_path), [], 0) == 0


def test_one_openmp_runtime_and_no_python_in_the_library() -> None:
    path = library.folder() / library.LIBRARY
    needed = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True).stdout
    assert "gomp" not in needed and "python" not in needed
    script = (
        "import torch, sys\n"
        "torch.ops.load_library(sys.argv[1])\n"
        "maps = {line.split()[-1] for line in open('/proc/self/maps') if 'gomp' in line or 'libomp' in line}\n"
        "print(len(maps))\n"
    )
    result = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert int(result.stdout) == 1
