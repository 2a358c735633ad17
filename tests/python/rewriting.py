"""Captured graphs made by hand, sent through the rewrite room and compared with eager."""

from __future__ import annotations

import functools
import json
import pathlib
import subprocess
from typing import Any

import json_interpreter
import prim_interpreter
import torch

from torch_cudaagent import graph_json

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tool() -> pathlib.Path:
    built = sorted(ROOT.glob("build*/rewrite_json"), key=lambda path: path.stat().st_mtime)
    assert built, "rewrite_json is not built: configure with -DCUDAAGENT_TESTS=ON and build it"
    return built[-1]


@functools.cache
def covered_operators() -> frozenset[str]:
    """Names as the registry has them; a default overload carries no suffix."""
    run = subprocess.run([tool(), "--operators"], capture_output=True, text=True, check=True)
    return frozenset(run.stdout.split())


@functools.cache
def _process() -> subprocess.Popen[str]:
    return subprocess.Popen([tool()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def rewrite(document: dict[str, Any]) -> dict[str, Any]:
    process = _process()
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps(document) + "\n")
    process.stdin.flush()
    reply = json.loads(process.stdout.readline())
    assert "error" not in reply, reply["error"]
    return reply


class Recorder:
    """Builds a graph document while it runs the operators in eager mode.

    The operators run on the CPU; with `device`, the document says that they ran there.
    """

    def __init__(self, device: str = "cpu") -> None:
        self._device = device
        self.document: dict[str, Any] = {"values": [], "inputs": [], "nodes": [], "outputs": [], "mutations": []}
        self.inputs: list[torch.Tensor] = []
        self.results: list[torch.Tensor] = []
        self._ids: dict[int, int] = {}
        self._keep: list[torch.Tensor] = []

    def _add(self, tensor: torch.Tensor) -> int:
        self.document["values"].append({"name": "", **graph_json.describe(tensor), "device": self._device})
        self._ids[id(tensor)] = len(self.document["values"]) - 1
        self._keep.append(tensor)
        return self._ids[id(tensor)]

    def input(self, tensor: torch.Tensor) -> torch.Tensor:
        self.document["inputs"].append({"value": self._add(tensor), "kind": "user", "target": ""})
        self.inputs.append(tensor)
        return tensor

    def _argument(self, value: Any, kind: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self._ids:
                self.input(value)
            return {"ref": self._ids[id(value)]}
        if isinstance(value, list | tuple):
            return [self._argument(item, graph_json._element_type(kind)) for item in value]
        if type(value) is int and graph_json._wants_float(kind):
            value = float(value)
        return graph_json.literal(value)

    def call(self, op: str, *args: Any, **kwargs: Any) -> Any:
        target = json_interpreter.operator(op)
        schema = target._schema.arguments
        given = {schema[i].name: value for i, value in enumerate(args)} | kwargs
        types = {argument.name: argument.type for argument in schema}
        arguments = [[name, self._argument(value, types[name])] for name, value in given.items()]
        result = target(*args, **kwargs)
        outputs = []
        for tensor in json_interpreter.flatten(result):
            # Eager hands an operand back where it has nothing to do; the graph gives that a value of its own.
            if isinstance(tensor, torch.Tensor) and id(tensor) in self._ids:
                return self._renamed(op, arguments, tensor)
            outputs.append(self._add(tensor) if isinstance(tensor, torch.Tensor) else None)
        self.document["nodes"].append({"op": target.name(), "args": arguments, "outputs": outputs})
        return result

    def _renamed(self, op: str, arguments: list[Any], tensor: torch.Tensor) -> torch.Tensor:
        alias = tensor.view_as(tensor)
        self.document["nodes"].append({"op": op, "args": arguments, "outputs": [self._add(alias)]})
        return alias

    def output(self, *tensors: torch.Tensor) -> None:
        for tensor in tensors:
            self.document["outputs"].append({"value": self._ids[id(tensor)], "alias_of": None})
            self.results.append(tensor)


_TOLERANCES = {
    torch.float32: (3e-5, 3e-6),
    torch.float64: (1e-10, 1e-12),
    torch.float16: (1e-2, 2e-3),
    torch.bfloat16: (4e-2, 2e-2),
}


def compare(got: torch.Tensor, wanted: torch.Tensor, loose: float = 1) -> None:
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    rtol, atol = _TOLERANCES.get(wanted.dtype, (0, 0))
    torch.testing.assert_close(got, wanted, rtol=rtol * loose, atol=atol * loose, equal_nan=True)


def check(recorder: Recorder, loose: float = 1, extern: bool = False) -> dict[str, Any]:
    """The rewritten graph, all primitives unless `extern`, computes what eager did and knows each output's origin."""
    reply = rewrite(recorder.document)
    graph = reply["graph"]
    assert not any(why.startswith("bug") for _, why in reply["left"]), reply["left"]
    if not extern:
        assert reply["left"] == []
        assert all(node["op"].startswith("prim::") for node in graph["nodes"])
    for got, wanted in zip(prim_interpreter.run(graph, recorder.inputs), recorder.results, strict=True):
        compare(got, wanted, loose)
    for after, before in zip(graph["outputs"], recorder.document["outputs"], strict=True):
        origin = graph["values"][after["value"]].get("origin")
        assert origin == before["value"] or _identity(recorder.document, before["value"], origin)
        compare_types(graph["values"][after["value"]], recorder.document["values"][origin])
    return reply


def _identity(document: dict[str, Any], value: int, origin: int | None) -> bool:
    """True when captured `value` is `origin` seen through nodes that do nothing."""
    assert origin is not None
    before, after = document["values"][origin], document["values"][value]
    return before["dims"] == after["dims"] and before["dtype"] == after["dtype"]


def compare_types(after: dict[str, Any], before: dict[str, Any]) -> None:
    for field in ("dtype", "dims", "strides", "device"):
        assert after[field] == before[field]


def check_call(
    op: str, *args: Any, loose: float = 1, extern: bool = False, device: str = "cpu", **kwargs: Any
) -> dict[str, Any]:
    """One operator, all of its tensors returned."""
    recorder = Recorder(device)
    result = recorder.call(op, *args, **kwargs)
    recorder.output(*[x for x in json_interpreter.flatten(result) if isinstance(x, torch.Tensor)])
    return check(recorder, loose, extern)
