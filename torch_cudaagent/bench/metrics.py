"""What a run amounts to: pass rate, faster rate, means of speedups, costs, and where time is left above the floor.

Nothing is dropped from a mean. A problem that failed, crashed, timed out or was refused counts as not passed, at the
speed of what its user would run instead, eager; where not even eager ran, at 1. A result faster than the device can be
is no win: it counts at 1 at most and as not faster.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .row import BASELINES, PROTOCOLS, Header, Mode, Row, counted
from .score import baseline_of

Keep = Callable[[Row], bool]

# Every mean is given over all problems, and again without those whose figure needs no work or an assumption.
VIEWS: dict[str, Keep] = {
    "all": lambda row: True,
    "without constant outputs": lambda row: not row.get("constant_output"),
    "without finite-only rewrites": lambda row: not row.get("finite_only"),
}


@dataclasses.dataclass(frozen=True)
class Speed:
    """Of a group of problems under one protocol. Rates are shares of `count`, means of baseline time over our time."""

    count: int
    passed: float
    faster: float
    geomean: float
    median: float
    geomean_kernels: float | None  # None where no problem has kernel times
    suspects: int


def passed(row: Row, protocol: str) -> bool:
    return bool(row["status"] == "ok" and row.get("judged", {}).get(protocol, {}).get("passed"))


def is_suspect(row: Row, protocol: str) -> bool:
    return passed(row, protocol) and bool(row["judged"][protocol].get("suspect"))


def runs_as(row: Row, protocol: str) -> str:
    """The variant whose time counts as ours."""
    return "ours" if passed(row, protocol) and "ours" in row.get("times", {}) else "eager"


def speedup(row: Row, protocol: str, field: str = "wall_ms", baseline: str | None = None) -> float | None:
    """Over `baseline`, or the protocol's own; None where one of the two has no such time."""
    times: Any = row.get("times", {})
    base = times.get(baseline or baseline_of(protocol, row), {}).get(field)
    ours = times.get(runs_as(row, protocol), {}).get(field)
    if not base or not ours:
        return None
    ratio: float = base / ours
    return min(ratio, 1.0) if is_suspect(row, protocol) else ratio


def geomean(values: Sequence[float]) -> float:
    return statistics.geometric_mean(values) if values else 1.0


def speed(rows: Sequence[Row], protocol: str) -> Speed:
    ratios = [speedup(row, protocol) or 1.0 for row in rows]
    kernels = [speedup(row, protocol, "kernels_ms") for row in rows]
    count = max(len(rows), 1)
    return Speed(
        count=len(rows),
        passed=sum(passed(row, protocol) for row in rows) / count,
        faster=sum(passed(row, protocol) and ratio > 1 for row, ratio in zip(rows, ratios, strict=True)) / count,
        geomean=geomean(ratios),
        median=statistics.median(ratios) if ratios else 1.0,
        geomean_kernels=geomean([ratio or 1.0 for ratio in kernels]) if any(kernels) else None,
        suspects=sum(is_suspect(row, protocol) for row in rows),
    )


def over_baselines(rows: Sequence[Row], protocol: str) -> dict[str, tuple[float, int]]:
    """Geomean over each baseline, and on how many problems it ran."""
    found: dict[str, tuple[float, int]] = {}
    for baseline in BASELINES:
        ratios = [ratio for row in rows if (ratio := speedup(row, protocol, baseline=baseline))]
        if ratios:
            found[baseline] = geomean(ratios), len(ratios)
    return found


def floor_ms(row: Row) -> float | None:
    """The least time, where the device's datasheet is known."""
    floor = row.get("floor", {})
    return max(floor["bytes_ms"], floor.get("flops_ms", 0.0)) if "bytes_ms" in floor else None


def fraction(row: Row, protocol: str) -> float | None:
    """Of the roofline: floor over our time."""
    least, ours = floor_ms(row), row.get("times", {}).get(runs_as(row, protocol), {}).get("wall_ms")
    return least / ours if least and ours else None


def above_floor(rows: Iterable[Row], protocol: str, count: int = 30) -> list[tuple[Row, float]]:
    """The problems with the most milliseconds above their floor: where work is worth most."""
    found = []
    for row in rows:
        least, ours = floor_ms(row), row.get("times", {}).get(runs_as(row, protocol), {}).get("wall_ms")
        if least is not None and ours:
            found.append((row, ours - least))
    return sorted(found, key=lambda pair: -pair[1])[:count]


def costs(rows: Iterable[Row]) -> dict[str, float]:
    """Medians over problems of what optimizing and running ours takes, torch.compile's beside it."""
    columns: dict[str, list[float]] = {}
    for row in rows:
        for variant in ("ours", "default"):
            for field in ("prepare_s", "overhead_us", "peak_bytes"):
                value: Any = row.get("times", {}).get(variant, {}).get(field)
                if value is not None:
                    columns.setdefault(f"{variant} {field}", []).append(value)
        if "cache_bytes" in row:
            columns.setdefault("ours cache_bytes", []).append(row["cache_bytes"])
    return {name: statistics.median(values) for name, values in columns.items()}


@dataclasses.dataclass(frozen=True)
class Summary:
    """One mode of one run. `speeds` is keyed by (protocol, view, level), level 0 being all of them."""

    mode: Mode
    rows: list[Row]
    missing: list[str]  # asked for, without a row
    speeds: dict[tuple[str, str, int], Speed]

    @property
    def levels(self) -> list[int]:
        return sorted({row["level"] for row in self.rows})


def protocols_of(rows: Iterable[Row]) -> list[str]:
    judged = {protocol for row in rows for protocol in row.get("judged", {})}
    return [protocol for protocol in PROTOCOLS if protocol in judged]


def summarise(header: Header, rows: Sequence[Row]) -> list[Summary]:
    """One summary for each mode that has rows."""
    found = []
    rows = counted(rows)
    for mode in ("train", "eval"):
        mine = [row for row in rows if row["mode"] == mode]
        if not mine:
            continue
        names = {row["problem"] for row in mine}
        missing = [name for name in header.get("problems", []) if name not in names]
        levels = [0, *sorted({row["level"] for row in mine})]
        speeds = {
            (protocol, view, level): speed([r for r in mine if level in (0, r["level"]) and keep(r)], protocol)
            for protocol in protocols_of(mine)
            for view, keep in VIEWS.items()
            for level in levels
        }
        found.append(Summary(mode, mine, missing, speeds))
    return found
