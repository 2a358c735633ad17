"""Times of a graph's nodes: by the thread's clock on the CPU, by torch.profiler on a GPU."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity
from torch.profiler import profile as torch_profile

from .pieces import Piece

_RANGE = "cudaagent::node "
_MOST_CALLS = 50


@dataclasses.dataclass(frozen=True)
class Kernel:
    """One piece of device work; microseconds, `start` since the call's first."""

    name: str
    node: int
    start: float
    duration: float


@dataclasses.dataclass(frozen=True)
class Times:
    """Of one graph. `seconds[n]` is the median of node n; kernels are those of one call, empty on the CPU."""

    seconds: list[float]
    kernels: list[Kernel]
    collector: str
    calls: int


def calls_within(budget_s: float, once: Callable[[], Any]) -> int:
    """How many calls fit into the budget, by the second one's time."""
    once()
    begin = time.perf_counter()
    once()
    return max(3, min(_MOST_CALLS, int(budget_s / max(time.perf_counter() - begin, 1e-6))))


def collect(piece: Piece, device: str, budget_s: float) -> Times:
    """Times of all nodes of a piece that has a document."""
    graph, tensors = piece.graph_json, piece.tensors()

    def run(calls: int) -> list[list[float]]:
        with torch.no_grad():
            found: list[list[float]] = json.loads(torch.ops.cudaagent.profile_nodes(graph, tensors, calls))
        return found

    calls = calls_within(budget_s, lambda: run(1))
    if device == "cuda":
        return _from_profiler(run, len(piece.document.graph["nodes"]) if piece.document else 0)
    samples = run(calls)
    return Times([statistics.median(column) for column in zip(*samples, strict=True)], [], "CPU timers", calls)


def _from_profiler(run: Callable[[int], list[list[float]]], nodes: int) -> Times:
    """Each node's kernels, tied to it by torch.profiler's correlation of launches with the range they happened in."""
    calls = 3
    with torch_profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as traced:
        host = run(calls)
        torch.cuda.synchronize()
    _show_to_nsight(run)
    ranges = [e for e in traced.events() if e.device_type == DeviceType.CPU and e.name.startswith(_RANGE)]
    sums = [0.0] * nodes
    for event in ranges:
        sums[int(event.name.removeprefix(_RANGE))] += event.device_time_total / calls * 1e-6
    if not any(sums):  # another profiler holds the device: the host's clock is all there is
        seconds = [statistics.median(column) for column in zip(*host, strict=True)]
        return Times(seconds, [], "CPU timers, since torch.profiler saw no kernel", calls)
    return Times(sums, _kernels(traced, ranges, calls), "torch.profiler", calls)


def _show_to_nsight(run: Callable[[int], Any]) -> None:
    """One call with each node as an NVTX range, for whoever runs this under Nsight; not while others profile."""
    with contextlib.suppress(RuntimeError), torch.autograd.profiler.emit_nvtx():
        run(1)


def _kernels(traced: Any, ranges: list[Any], calls: int) -> list[Kernel]:
    """The device's work of the last call, in the order of its start."""
    launched: dict[str, int] = {}
    for event in ranges:
        for name in _launched(event):
            launched[name] = int(event.name.removeprefix(_RANGE))
    work = sorted(
        (e for e in traced.events() if e.device_type == DeviceType.CUDA and not e.is_user_annotation),
        key=lambda e: e.time_range.start,
    )
    last = work[len(work) - len(work) // calls :]
    begin = last[0].time_range.start if last else 0.0
    return [
        Kernel(e.name, launched.get(e.name, -1), e.time_range.start - begin, e.time_range.elapsed_us()) for e in last
    ]


def _launched(event: Any) -> list[str]:
    names = [kernel.name for kernel in event.kernels]
    return names + [name for child in event.cpu_children for name in _launched(child)]


def wall_seconds(call: Callable[[], Any], device: str, budget_s: float) -> float:
    """Median seconds of a whole call, the device waited for."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def timed() -> float:
        wait()
        begin = time.perf_counter()
        call()
        wait()
        return time.perf_counter() - begin

    with torch.no_grad():
        return statistics.median(timed() for _ in range(calls_within(budget_s, timed)))
