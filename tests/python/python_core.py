"""The operators of the native library, done in Python by the interpreter: capture is tested without the core.

Chosen with CUDAAGENT_TEST_CORE=python.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import json_interpreter
import torch


class _Program:
    def __init__(self, graph: str, options: str, bound: list[bool]) -> None:
        self.document = json.loads(graph)
        self.bound = bound
        self.weights: list[torch.Tensor] = []

    def run(self, users: list[torch.Tensor]) -> list[Any]:
        weights, rest = iter(self.weights), iter(users)
        inputs = [next(weights) if bound else next(rest) for bound in self.bound]
        with torch.no_grad():
            return json_interpreter.run(self.document, inputs)


programs: dict[int, _Program] = {}
documents: dict[tuple[str, ...], str] = {}
_handles = itertools.count(1)


def _compile(graph: str, options: str, bound: list[bool]) -> int:
    json.loads(options)
    handle = next(_handles)
    programs[handle] = _Program(graph, options, bound)
    return handle


def _report(handle: int) -> str:
    nodes = programs[handle].document["nodes"]
    return json.dumps({"regions": [{"kind": "external", "nodes": [n["op"]], "why": "Python core"} for n in nodes]})


def _bind(handle: int, tensors: list[torch.Tensor]) -> None:
    programs[handle].weights = list(tensors)


class _Packet:
    def __init__(self, function: Any) -> None:
        self.default = function
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def install() -> None:
    """Stands in for torch.ops.cudaagent."""
    import types

    torch.ops.cudaagent = types.SimpleNamespace(  # type: ignore[attr-defined]
        compile=_Packet(_compile),
        report=_Packet(_report),
        release=_Packet(lambda handle: programs.pop(handle, None)),
        bind=_Packet(_bind),
        options=_Packet(lambda options: json.dumps({"cache_dir": "", **json.loads(options)})),
        cache_get=_Packet(lambda store, key: documents.get((store, *key), "")),
        cache_put=_Packet(lambda store, key, text: documents.update({(store, *key): text})),
        run=_Packet(lambda handle, tensors: programs[handle].run(list(tensors))),
    )
