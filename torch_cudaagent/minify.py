"""Makes a failing graph document small: fewer nodes, same failure. For bug reports and for the fuzzer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import library

Graph = dict[str, Any]


def references(argument: Any) -> Iterator[int]:
    """Every value id inside an argument of a node."""
    if isinstance(argument, dict):
        if "ref" in argument:
            yield argument["ref"]
    elif isinstance(argument, list):
        for item in argument:
            yield from references(item)


def _renumber(argument: Any, ids: dict[int, int]) -> Any:
    if isinstance(argument, dict) and "ref" in argument:
        return {"ref": ids[argument["ref"]]}
    if isinstance(argument, list):
        return [_renumber(item, ids) for item in argument]
    return argument


def reads(node: dict[str, Any]) -> list[int]:
    return list(dict.fromkeys(v for _, argument in node["args"] for v in references(argument)))


def makes(node: dict[str, Any]) -> list[int]:
    return [v for v in node["outputs"] if v is not None and v >= 0]


def part(graph: Graph, nodes: list[int]) -> Graph:
    """The document of some of the nodes: what they read from outside becomes inputs, what they make and do not
    read themselves becomes outputs."""
    chosen = [graph["nodes"][i] for i in nodes]
    made = {v for node in chosen for v in makes(node)}
    used = {v for node in chosen for v in reads(node)}
    inputs = list(dict.fromkeys(v for node in chosen for v in reads(node) if v not in made))
    outputs = [v for node in chosen for v in makes(node) if v not in used]
    ids = {v: i for i, v in enumerate([*inputs, *(v for node in chosen for v in makes(node))])}
    return {
        "values": [graph["values"][v] for v in ids],
        "inputs": [{"value": ids[v], "kind": "user", "target": ""} for v in inputs],
        "nodes": [
            {
                "op": node["op"],
                "args": [[name, _renumber(argument, ids)] for name, argument in node["args"]],
                "outputs": [None if v is None or v < 0 else ids[v] for v in node["outputs"]],
            }
            for node in chosen
        ],
        "outputs": [{"value": ids[v], "alias_of": None} for v in outputs],
        "mutations": [],
    }


def minify(graph: Graph, fails: Callable[[Graph], bool], progress: Callable[[int], None] | None = None) -> Graph:
    """The smallest part found that still fails; `graph` itself when only the whole does.

    Contiguous halves, quarters, ... are dropped in turn (delta debugging); `progress` gets the nodes left.
    """
    kept = list(range(len(graph["nodes"])))
    if not kept or not fails(part(graph, kept)):
        return graph
    size = max(len(kept) // 2, 1)
    while size >= 1:
        start = 0
        while start < len(kept) and len(kept) > 1:
            trial = kept[:start] + kept[start + size :]
            if trial and fails(part(graph, trial)):
                kept = trial
                if progress:
                    progress(len(kept))
            else:
                start += size
        size //= 2
    return part(graph, kept)


def _dtype(name: str) -> torch.dtype:
    return getattr(torch, name)


def example_inputs(graph: Graph, seed: int = 0) -> list[torch.Tensor]:
    """Normal floats and small integers in the layouts the document asks for."""
    generator = torch.Generator().manual_seed(seed)
    tensors = []
    for given in graph["inputs"]:
        value = graph["values"][given["value"]]
        dtype = _dtype(value["dtype"])
        low, high = value.get("range") or (0, 2)
        if dtype.is_floating_point or dtype.is_complex:
            dense = torch.randn(value["dims"], generator=generator).to(dtype)
        elif dtype == torch.bool:
            dense = torch.randint(0, 2, value["dims"], generator=generator).to(dtype)
        else:
            dense = torch.randint(low, max(high, low + 1), value["dims"], generator=generator).to(dtype)
        tensor = torch.empty_strided(value["dims"], value["strides"], dtype=dtype)
        tensors.append(tensor.copy_(dense).to(value["device"]))
    return tensors


def interpreted(graph: Graph, inputs: list[torch.Tensor]) -> list[Any]:
    """What PyTorch makes of the document, node by node."""
    library.load()
    return torch.ops.cudaagent.interpret(json.dumps(graph), inputs)


def compiled(graph: Graph, options_json: str, inputs: list[torch.Tensor]) -> list[Any]:
    """What the compiled program returns."""
    library.load()
    handle = torch.ops.cudaagent.compile(json.dumps(graph), options_json, [False] * len(inputs))
    try:
        return torch.ops.cudaagent.run(handle, inputs)
    finally:
        torch.ops.cudaagent.release(handle)


def failure(graph: Graph, options_json: str, tolerance: float = 1e-4, seed: int = 0) -> str | None:
    """What goes wrong when the document is compiled and run on example inputs; None when nothing does.

    A graph that PyTorch itself cannot run on those inputs counts as no failure of ours.
    """
    inputs = example_inputs(graph, seed)
    try:
        eager = interpreted(graph, inputs)
    except RuntimeError:
        return None
    try:
        ours = compiled(graph, options_json, inputs)
    except RuntimeError as error:
        return str(error).splitlines()[0]
    for position, (mine, theirs) in enumerate(zip(ours, eager, strict=True)):
        if theirs is None:
            continue
        scale = theirs.double().abs().nan_to_num(posinf=0, neginf=0).amax().item() if theirs.numel() else 0.0
        if not torch.allclose(
            mine.double(), theirs.double(), rtol=tolerance, atol=tolerance * max(scale, 1e-30), equal_nan=True
        ):
            return f"output {position} differs from PyTorch by more than {tolerance}"
    return None
