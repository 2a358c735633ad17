"""cudaagent.profile(): the hot operators of a model, each beside the least time its device could take."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .. import library
from ..errors import UserError
from ..options import make_options
from . import text, trace
from .ceilings import ceilings
from .collect import Times, collect, wall_seconds
from .pieces import Piece, capture_pieces


@dataclasses.dataclass(frozen=True)
class Node:
    """One operator of one graph. Times in microseconds; `floor_us` is what its device needs at least, by roofline."""

    graph: int
    index: int
    op: str
    outputs: list[str]  # "float32[8, 16]"
    time_us: float
    floor_us: float
    read_bytes: float
    written_bytes: float
    flops: float

    @property
    def fraction(self) -> float:
        """Of the roofline."""
        return self.floor_us / self.time_us if self.time_us else 0.0


@dataclasses.dataclass(frozen=True)
class Profile:
    """What profile() found: print it, or take .to_dict(), .to_json(), .chrome_trace(path)."""

    model: str
    device: str
    collector: str  # how the times were taken
    wall_us: float  # of a call of the model as it is
    fused_floor_us: float  # of all graphs, were nothing but inputs and outputs to move
    nodes: list[Node]
    left: list[str]  # graphs that cannot be seen into, and why
    kernels: list[dict[str, Any]]  # name, graph, node, start_us, duration_us; on a GPU
    ceilings: dict[str, Any]

    @property
    def nodes_us(self) -> float:
        return sum(node.time_us for node in self.nodes)

    @property
    def gaps_us(self) -> float:
        """Of a call: time in which no node, or on a GPU no kernel, was at work."""
        return max(self.wall_us - self.nodes_us, 0.0)

    def to_dict(self) -> dict[str, Any]:
        totals = {"nodes_us": self.nodes_us, "gaps_us": self.gaps_us}
        return dataclasses.asdict(self) | totals

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    def chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """One call as trace events, for https://ui.perfetto.dev or chrome://tracing."""
        try:
            pathlib.Path(path).write_text(json.dumps(trace.events(self)))
        except OSError as error:
            raise UserError(f"Cannot write {path} ({error.strerror}); name another file.") from error

    def table(self, top: int = 20) -> str:
        return text.render(self, top)

    def __str__(self) -> str:
        return self.table()


def profile(model: Callable[..., Any], *inputs: Any, seconds: float = 2.0, cache_dir: str | None = None) -> Profile:
    """Times every operator of `model(*inputs)` under no_grad and counts what it moves and computes.

    A module or a function as PyTorch runs it: an optimized one is seen through to its operators. On the CPU each
    operator is timed on the caller's thread, on a GPU its kernels by torch.profiler. About `seconds` are spent. The
    device's ceilings are measured at the first use and kept in the kernel store (`cache_dir`). On the CPU a fraction
    of the roofline may exceed 1: what lies in a cache moves faster than a copy of memory.
    """
    if not callable(model) or isinstance(model, type):
        raise UserError(f"profile() takes a torch.nn.Module or a function, and was given a {type(model).__name__}.")
    library.load()
    device = _device(model, inputs)
    from ..api import disable

    with disable():
        with torch.no_grad():
            model(*inputs)  # an error here is the model's own
        pieces = capture_pieces(model, inputs)
        share = seconds / (2 * max(len(pieces), 1))
        known = ceilings(device, _store(cache_dir))
        nodes, kernels, collectors, fused = _nodes(pieces, device, share, known)
        wall = wall_seconds(lambda: model(*inputs), device, seconds / 2)
    return Profile(
        model=type(model).__name__ if isinstance(model, torch.nn.Module) else getattr(model, "__name__", str(model)),
        device=device,
        collector=", ".join(sorted(collectors)) or "none",
        wall_us=wall * 1e6,
        fused_floor_us=fused,
        nodes=nodes,
        left=[piece.why for piece in pieces if piece.document is None],
        kernels=kernels,
        ceilings=known,
    )


def _device(model: Any, inputs: tuple[Any, ...]) -> str:
    tensors = [x for x in pytree.tree_leaves(list(inputs)) if isinstance(x, torch.Tensor)]
    if isinstance(model, torch.nn.Module):
        tensors += [*model.parameters(), *model.buffers()]
    types = {tensor.device.type for tensor in tensors}
    if not types <= {"cpu", "cuda"}:
        raise UserError(f"profile() runs on the CPU and on CUDA; the model is on {', '.join(sorted(types))}.")
    return "cuda" if "cuda" in types else "cpu"


def _store(cache_dir: str | None) -> pathlib.Path:
    options = make_options({"cache_dir": cache_dir} if cache_dir else {})
    return pathlib.Path(json.loads(torch.ops.cudaagent.options(options.to_json()))["cache_dir"])


def _nodes(
    pieces: list[Piece], device: str, share: float, known: dict[str, Any]
) -> tuple[list[Node], list[dict[str, Any]], set[str], float]:
    nodes: list[Node] = []
    kernels: list[dict[str, Any]] = []
    collectors: set[str] = set()
    fused = 0.0
    for k, piece in enumerate(pieces):
        if piece.document is None:
            continue
        times = collect(piece, device, share)
        counts = json.loads(torch.ops.cudaagent.node_costs(piece.graph_json, json.dumps(known)))
        nodes += _of_graph(k, piece.document.graph, times, counts)
        fused += counts["fused_floor"] * 1e6
        collectors.add(times.collector)
        for kernel in times.kernels:
            kernels.append(
                {"name": kernel.name, "graph": k, "node": kernel.node}
                | {"start_us": kernel.start, "duration_us": kernel.duration}
            )
    return nodes, kernels, collectors, fused


def _of_graph(number: int, graph: dict[str, Any], times: Times, counts: dict[str, Any]) -> list[Node]:
    found = []
    for n, (node, cost) in enumerate(zip(graph["nodes"], counts["nodes"], strict=True)):
        made = [graph["values"][v] for v in node["outputs"] if v is not None and v >= 0]
        found.append(
            Node(
                graph=number,
                index=n,
                op=node["op"],
                outputs=[f"{value['dtype']}{value['dims']}" for value in made],
                time_us=times.seconds[n] * 1e6,
                floor_us=counts["floors"][n] * 1e6,
                read_bytes=cost["read_bytes"],
                written_bytes=cost["written_bytes"],
                flops=cost["products"] + cost["others"],
            )
        )
    return found
