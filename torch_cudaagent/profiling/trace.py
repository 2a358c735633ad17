"""A profile as trace events (the format of Chrome's tracing and of Perfetto)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .profiler import Profile

_OPERATORS, _DEVICE = 1, 2


def events(profile: Profile) -> dict[str, Any]:
    """Operators on one track, one after another; on a GPU its kernels on a second, where they ran."""
    found: list[dict[str, Any]] = [_named(_OPERATORS, "operators")]
    at = 0.0
    for node in profile.nodes:
        details = {"graph": node.graph, "node": node.index, "outputs": node.outputs, "flops": node.flops}
        details |= {"bytes": node.read_bytes + node.written_bytes, "floor_us": node.floor_us}
        found.append(_span(_OPERATORS, node.op, at, node.time_us, details))
        at += node.time_us
    if profile.kernels:
        found.append(_named(_DEVICE, "kernels"))
    for kernel in profile.kernels:
        details = {"graph": kernel["graph"], "node": kernel["node"]}
        found.append(_span(_DEVICE, kernel["name"], kernel["start_us"], kernel["duration_us"], details))
    return {"traceEvents": found, "displayTimeUnit": "ms", "otherData": {"model": profile.model}}


def _named(track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": 1, "tid": track, "args": {"name": name}}


def _span(track: int, name: str, start: float, duration: float, details: dict[str, Any]) -> dict[str, Any]:
    span = {"ph": "X", "name": name, "pid": 1, "tid": track, "ts": start, "dur": duration}
    return span | {"cat": "operator" if track == _OPERATORS else "kernel", "args": details}
