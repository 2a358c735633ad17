"""Two runs side by side: what got faster, slower, broke or was mended.

Machines differ by more than kernels do, so what is compared is each run's own ratio, eager over ours.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence

from ..errors import UserError
from .metrics import passed, speedup, time_of
from .row import Row, counted
from .summary import protocols_of

_LEAST_NOISE = 0.03  # two runs of the same code differ by that much


@dataclasses.dataclass(frozen=True)
class Change:
    problem: str
    mode: str
    before: float | None  # eager over ours
    after: float | None
    noise: float  # relative, of the ratio after / before
    kind: str  # "faster", "slower", "broke", "mended", "same", "gone", "new"


def compare(before: Sequence[Row], after: Sequence[Row], protocol: str) -> list[Change]:
    """Every problem of either run, in the order of the later one.

    A run that was not judged by the protocol raises UserError: no problem of it would differ.
    """
    for rows in (before, after):
        judged = protocols_of(rows)
        if judged and protocol not in judged:
            raise UserError(f"A run was not judged by {protocol}; pass --protocol {judged[0]}, which it has.")
    old = {(row["problem"], row["mode"]): row for row in counted(before)}
    new = {(row["problem"], row["mode"]): row for row in counted(after)}
    least = max(_LEAST_NOISE, sentinel_noise(before), sentinel_noise(after))
    keys = [*new, *(key for key in old if key not in new)]
    return [_change(key, old.get(key), new.get(key), protocol, least) for key in keys]


def _change(key: tuple[str, str], old: Row | None, new: Row | None, protocol: str, least: float) -> Change:
    before = speedup(old, protocol, baseline="eager") if old else None
    after = speedup(new, protocol, baseline="eager") if new else None
    noise = math.hypot(_spread(old), _spread(new), least)
    if old is None or new is None:
        return Change(*key, before, after, noise, "new" if old is None else "gone")
    if passed(old, protocol) != passed(new, protocol):
        return Change(*key, before, after, noise, "mended" if passed(new, protocol) else "broke")
    ratio = math.log((after or 1.0) / (before or 1.0))
    kind = "same" if abs(ratio) <= math.log1p(noise) else "faster" if ratio > 0 else "slower"
    return Change(*key, before, after, noise, kind)


def _spread(row: Row | None) -> float:
    """Half the distance of the quartiles of eager and ours, relative, joined."""
    found = 0.0
    for variant in ("eager", "ours"):
        if row and (wall := time_of(row, variant)):
            low, high = (time_of(row, variant, field) or wall for field in ("low_ms", "high_ms"))
            found = math.hypot(found, (high - low) / 2 / wall)
    return found


def sentinel_noise(rows: Sequence[Row]) -> float:
    """Relative deviation of eager's time of one problem over the shards of a run; of the worst problem."""
    times: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if wall := time_of(row, "eager"):
            times.setdefault((row["problem"], row["mode"]), []).append(wall)
    repeated = [values for values in times.values() if len(values) > 1]
    return max((statistics.stdev(values) / statistics.mean(values) for values in repeated), default=0.0)
