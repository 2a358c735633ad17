"""What problems amount to: pass rate, faster rate, means of speedups, and where time is left above the floor.

Nothing is dropped from a mean. A problem that failed, crashed, timed out or was refused counts as not passed, at the
speed of what its user would run instead, eager; where not even eager ran, at 1. A result faster than the device can be
is no win: it counts at 1 at most and as not faster.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from .row import BASELINES, Row
from .score import baseline_of

BEST = "best mode"  # of torch.compile, problem by problem; as a baseline
# Whatever ours is held against. Frozen weights are ours too, with a promise of the user's: beside it, not the headline.
COMPARED = (*BASELINES, BEST, "ours_frozen")
_LEAST_MS = 1e-9  # no reading is shorter


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
    return "ours" if passed(row, protocol) and time_of(row, "ours") else "eager"


def time_of(row: Row, variant: str, field: str = "wall_ms") -> float | None:
    """None where it was not measured, or cannot be a time."""
    times: Any = row.get("times", {})
    found: float = times.get(variant, {}).get(field) or 0.0
    return found if found > _LEAST_MS else None


def our_time(row: Row, protocol: str, field: str = "wall_ms") -> float | None:
    return time_of(row, runs_as(row, protocol), field)


def speedup(row: Row, protocol: str, field: str = "wall_ms", baseline: str | None = None) -> float | None:
    """Over `baseline`, or the protocol's own; None where one of the two has no such time."""
    own = baseline_of("equal" if baseline == BEST else protocol, row)
    base = time_of(row, own if baseline in (None, BEST) else baseline, field)
    ours = our_time(row, protocol, field)
    if not base or not ours:
        return None
    return min(base / ours, 1.0) if is_suspect(row, protocol) else base / ours


def is_faster(row: Row, protocol: str) -> bool:
    """A win: it passed, ours ran, and took less than the protocol's baseline."""
    return runs_as(row, protocol) == "ours" and (speedup(row, protocol) or 1.0) > 1


def geomean(values: Sequence[float]) -> float:
    return statistics.geometric_mean(values) if values else 1.0


def speed(rows: Sequence[Row], protocol: str) -> Speed:
    ratios = [speedup(row, protocol) or 1.0 for row in rows]
    kernels = [speedup(row, protocol, "kernels_ms") for row in rows]
    count = max(len(rows), 1)
    return Speed(
        count=len(rows),
        passed=sum(passed(row, protocol) for row in rows) / count,
        faster=sum(is_faster(row, protocol) for row in rows) / count,
        geomean=geomean(ratios),
        median=statistics.median(ratios) if ratios else 1.0,
        geomean_kernels=geomean([ratio or 1.0 for ratio in kernels]) if any(kernels) else None,
        suspects=sum(is_suspect(row, protocol) for row in rows),
    )


@dataclasses.dataclass(frozen=True)
class Over:
    """One baseline's time over ours, of `count` problems."""

    count: int
    geomean: float
    median: float


def over_baseline(rows: Iterable[Row], protocol: str, baseline: str) -> Over | None:
    """None where it never ran. A problem on which only the baseline gave no time is left out, and `count` tells so;
    one on which nothing of ours ran, eager neither, counts at 1 here too."""
    found = [(speedup(row, protocol, baseline=baseline), our_time(row, protocol)) for row in rows]
    ratios = [ratio or 1.0 for ratio, ours in found if ratio or ours is None]
    return Over(len(ratios), geomean(ratios), statistics.median(ratios)) if any(ratio for ratio, _ in found) else None


def over_baselines(rows: Sequence[Row], protocol: str) -> dict[str, Over]:
    """By every baseline that ran, and by the best mode of torch.compile on each problem."""
    found = {baseline: over_baseline(rows, protocol, baseline) for baseline in COMPARED}
    return {baseline: over for baseline, over in found.items() if over}


def floor_ms(row: Row) -> float | None:
    """The least time, where the device's datasheet is known and anything has to move."""
    floor = row.get("floor", {})
    least = max(floor.get("bytes_ms", 0.0), floor.get("flops_ms", 0.0))
    return least if least > 0 else None


def fraction(row: Row, protocol: str) -> float | None:
    """Of the roofline: floor over our time."""
    least, ours = floor_ms(row), our_time(row, protocol)
    return least / ours if least and ours else None


def above_floor(rows: Iterable[Row], protocol: str, count: int = 30) -> list[tuple[Row, float]]:
    """The problems with the most milliseconds above their floor: where work is worth most."""
    found = []
    for row in rows:
        least, ours = floor_ms(row), our_time(row, protocol)
        if least and ours:
            found.append((row, ours - least))
    return sorted(found, key=lambda pair: -pair[1])[:count]
