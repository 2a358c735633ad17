"""What explain() returns: the records of a model's graphs, as text and as a dictionary."""

from __future__ import annotations

import collections
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .program import Record

KERNEL_PREFIX = "ca_"  # of every generated kernel (schedule::Region::name)


class Explanation:
    def __init__(
        self, name: str, records: list[Record], optimized: bool, verbosity: int = 1, share: float | None = None
    ) -> None:
        self.share = share
        self.name = name
        self.verbosity = verbosity
        self._records = list(records)
        self._optimized = optimized

    def to_dict(self) -> dict[str, Any]:
        """Everything that is known, of plain JSON types."""
        graphs = [
            {
                "operators": record.operators,
                "why_eager": record.why_eager,
                "eager_calls": dict(record.eager_calls),
                "capture_seconds": record.capture_seconds,
                "programs": record.reports,
            }
            for record in self._records
        ]
        return {"model": self.name, "optimized": self._optimized, "graphs": graphs, "totals": self._totals()}

    def regions(self) -> list[dict[str, Any]]:
        """Every region of every program."""
        return [region for record in self._records for report in record.reports for region in report.get("regions", [])]

    def _totals(self) -> dict[str, Any]:
        kinds = collections.Counter(region.get("kind", "external") for region in self.regions())
        rooms: collections.Counter[str] = collections.Counter()
        cache: collections.Counter[str] = collections.Counter()
        for record in self._records:
            for report in record.reports:
                rooms.update({k: v for k, v in report.get("timings", {}).items() if isinstance(v, int | float)})
                cache.update({k: v for k, v in report.get("cache", {}).items() if isinstance(v, int | float)})
        return {
            "graphs": len(self._records),
            "graphs_in_pytorch": sum(record.why_eager is not None for record in self._records),
            "regions": dict(kinds),
            "share_of_time_generated": self.share,
            "seconds_by_room": dict(rooms),
            "cache": dict(cache),
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        if not self._optimized:
            yield f"{self.name} is not optimized: call torch_cudaagent.optimize() on it first."
            return
        if not self._records:
            yield f"{self.name} is optimized, and nothing is captured yet: call it once, then explain() knows more."
            return
        totals = self._totals()
        kinds = totals["regions"]
        yield (
            f"{self.name}: {totals['graphs']} graph(s), {totals['graphs_in_pytorch']} of them left to PyTorch; "
            f"regions: {kinds.get('generated', 0)} generated, {kinds.get('external', 0)} external, "
            f"{kinds.get('view', 0)} views"
        )
        if totals["share_of_time_generated"] is not None:
            yield f"  share of time in generated kernels: {totals['share_of_time_generated']:.0%}"
        if totals["seconds_by_room"]:
            rooms = ", ".join(f"{room} {seconds:.2f} s" for room, seconds in totals["seconds_by_room"].items())
            yield f"  spent on: {rooms}"
        if totals["cache"]:
            yield "  cache: " + ", ".join(f"{name} {count}" for name, count in totals["cache"].items())
        if self.verbosity >= 1:
            for number, record in enumerate(self._records, 1):
                yield from self._graph_lines(number, record)

    def _graph_lines(self, number: int, record: Record) -> Iterator[str]:
        yield f"graph {number}: {len(record.operators)} calls ({_some(record.operators)})"
        if record.why_eager:
            yield f"  stays with PyTorch: {record.why_eager}"
        for reason, count in record.eager_calls.items():
            yield f"  {count} call(s) ran in PyTorch: {reason}"
        for problem in dict.fromkeys(report.get("problem") for report in record.reports):
            if problem:
                yield f"  {problem}"
        for report in record.reports:
            for region in report.get("regions", []):
                yield from self._region_lines(region)

    def _error_lines(self, families: list[dict[str, Any]]) -> Iterator[str]:
        """Relative RMS errors against double precision: the worst input family, or every one."""
        errors = [(f["family"], f["kernel"][0], f["eager"][0]) for f in families]
        errors = [error for error in errors if None not in error]  # null: infinite, as eager's own
        if self.verbosity < 2 and errors:
            errors = [max(errors, key=lambda error: error[1])]
        for family, kernel, eager in errors:
            yield f"            error on {family} inputs {kernel:.2e}, eager {eager:.2e}"

    def _region_lines(self, region: dict[str, Any]) -> Iterator[str]:
        nodes = _some(region.get("nodes", []))
        kind = region.get("kind", "external")
        name = region.get("name") or kind
        if kind != "generated":
            why = region.get("why")
            yield f"  {kind:9} {nodes}" + (f"  ({why})" if why else "")
            return
        verdict = region.get("verdict") or {}
        times = ""
        if verdict.get("kernel_us"):
            times = f"  {verdict['kernel_us']:.1f} us, eager {verdict.get('eager_us', 0):.1f} us"
        yield f"  generated {name}  {region.get('template', '')}  {verdict.get('status', '')}{times}"
        yield f"            {nodes}"
        yield from self._error_lines(verdict.get("families", []))
        if self.verbosity >= 2 and region.get("source"):
            yield textwrap.indent(_text(region["source"]), "      | ")


def measure_share(call: Callable[[], Any], repeats: int = 5) -> float | None:
    """Part of the time of `call` that is spent in generated kernels, which the profiler knows by their names."""
    call()
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(repeats):
            call()
    events = profile.key_averages()
    times = {e.key: e.self_device_time_total for e in events if e.device_type == torch.autograd.DeviceType.CUDA}
    if not times:
        times = {e.key: e.self_cpu_time_total for e in events}
    total = sum(times.values())
    return sum(t for name, t in times.items() if name.startswith(KERNEL_PREFIX)) / total if total else None


def _text(source: Any) -> str:
    return source.get("text", "") if isinstance(source, dict) else str(source)


def _some(names: list[str], most: int = 8) -> str:
    shown = ", ".join(str(name).removeprefix("aten::") for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
