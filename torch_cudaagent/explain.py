"""What explain() returns: the records of a model's graphs, as text and as a dictionary."""

from __future__ import annotations

import collections
import textwrap
from collections.abc import Iterator
from typing import Any

from .program import Record


class Explanation:
    def __init__(self, name: str, records: list[Record], optimized: bool, verbosity: int = 1) -> None:
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
        timed = [region for region in self.regions() if _microseconds(region)]
        generated = sum(_microseconds(region) for region in timed if region.get("kind") == "generated")
        total = sum(_microseconds(region) for region in timed)
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
            "share_of_time_generated": generated / total if total else None,
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
            yield f"{self.name} is optimized, and nothing is captured yet: call it once, then explain() has something to say."
            return
        totals = self._totals()
        kinds = totals["regions"]
        yield (
            f"{self.name}: {totals['graphs']} graph(s), {totals['graphs_in_pytorch']} of them left to PyTorch; regions: "
            f"{kinds.get('generated', 0)} generated, {kinds.get('external', 0)} external, {kinds.get('view', 0)} views"
        )
        if totals["share_of_time_generated"] is not None:
            yield f"  share of measured time in generated kernels: {totals['share_of_time_generated']:.0%}"
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
        for report in record.reports:
            for region in report.get("regions", []):
                yield from self._region_lines(region)

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
        for family in verdict.get("families", []):
            kernel, eager = (errors[0] for errors in (family["kernel"], family["eager"]))  # null: infinite
            if kernel is not None and eager is not None and self.verbosity >= 1:
                yield f"            {family['family']:9} error {kernel:.2e}, eager {eager:.2e}"
        if self.verbosity >= 2 and region.get("source"):
            yield textwrap.indent(_text(region["source"]), "      | ")


def _microseconds(region: dict[str, Any]) -> float:
    verdict = region.get("verdict") or {}
    if region.get("kind") == "generated":
        return float(verdict.get("kernel_us") or region.get("us") or 0)
    return float(region.get("us") or region.get("eager_us") or 0)


def _text(source: Any) -> str:
    return source.get("text", "") if isinstance(source, dict) else str(source)


def _some(names: list[str], most: int = 8) -> str:
    shown = ", ".join(str(name).removeprefix("aten::") for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
