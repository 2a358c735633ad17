"""A whole run, mode by mode: rates and means of each protocol, view and level, and what optimizing costs."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .metrics import Over, Speed, above_floor, floor_ms, fraction, is_suspect, our_time, over_baselines, passed, speed
from .row import PROTOCOLS, Header, Mode, Row, counted

# Every mean is given over all problems, and again without those whose figure needs no work or an assumption.
ALL = "all"
VIEWS: dict[str, Callable[[Row], bool]] = {
    ALL: lambda row: True,
    "without constant outputs": lambda row: not row.get("constant_output"),
    "without finite-only rewrites": lambda row: not row.get("finite_only"),
}
_COSTS = ("prepare_s", "overhead_us", "peak_bytes")

Key = tuple[str, str, int]  # protocol, view, level; level 0 is all of them


@dataclasses.dataclass(frozen=True)
class Summary:
    """One mode of one run."""

    mode: Mode
    rows: list[Row]
    missing: list[str]  # asked for, without a row
    speeds: dict[Key, Speed]
    over: dict[Key, dict[str, Over]]  # by baseline

    @property
    def levels(self) -> list[int]:
        return sorted({row["level"] for row in self.rows})

    def shown(self) -> list[tuple[Key, Speed]]:
        """Without the views that leave out no problem, which say nothing new."""
        return [
            (key, found)
            for key, found in self.speeds.items()
            if key[1] == ALL or found.count < self.speeds[key[0], ALL, key[2]].count
        ]


def protocols_of(rows: Iterable[Row]) -> list[str]:
    judged = {protocol for row in rows for protocol in row.get("judged", {})}
    return [protocol for protocol in PROTOCOLS if protocol in judged]


def summarise(header: Header, rows: Sequence[Row]) -> list[Summary]:
    """One summary for each mode that has rows; none where no problem has ended yet."""
    found = []
    rows = counted(rows)
    modes: tuple[Mode, ...] = ("train", "eval")
    for mode in modes:
        mine = [row for row in rows if row["mode"] == mode]
        if mine:
            names = {row["problem"] for row in mine}
            found.append(_summary(mode, mine, [name for name in header["problems"] if name not in names]))
    return found


def _summary(mode: Mode, rows: list[Row], missing: list[str]) -> Summary:
    levels = dict.fromkeys((0, *sorted(row["level"] for row in rows)))
    # A run in which nothing got as far as a verdict still has its pass rate.
    groups = {
        (protocol, view, level): [row for row in rows if level in (0, row["level"]) and keep(row)]
        for protocol in protocols_of(rows) or PROTOCOLS[:1]
        for view, keep in VIEWS.items()
        for level in levels
    }
    speeds = {key: speed(group, key[0]) for key, group in groups.items()}
    over = {key: over_baselines(group, key[0]) for key, group in groups.items()}
    return Summary(mode, rows, missing, speeds, over)


def costs(rows: Iterable[Row]) -> dict[str, dict[str, float]]:
    """By variant, medians over problems of what preparing and running it takes: `prepare_s`, `overhead_us`,
    `peak_bytes`, and of ours `cache_bytes`."""
    columns: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        for variant, time in row.get("times", {}).items():
            values: Any = {name: value for name, value in time.items() if name in _COSTS}
            if variant == "ours" and "cache_bytes" in row:
                values["cache_bytes"] = row["cache_bytes"]
            for name, value in values.items():
                columns.setdefault(variant, {}).setdefault(name, []).append(value)
    return {name: {field: statistics.median(x) for field, x in found.items()} for name, found in columns.items()}


def as_json(found: Summary) -> dict[str, Any]:
    """All that the tables show, and each problem's share of the roofline; for programs."""
    protocols = protocols_of(found.rows)
    first = next(iter(protocols), "")
    keys = [dict(zip(("protocol", "view", "level"), key, strict=True)) for key in found.speeds]
    over = [{name: dataclasses.asdict(x) for name, x in by.items()} for by in found.over.values()]
    speeds = [dataclasses.asdict(x) for x in found.speeds.values()]
    return {
        "mode": found.mode,
        "problems": len(found.rows),
        "missing": found.missing,
        "speeds": [key | mine | {"over": by} for key, mine, by in zip(keys, speeds, over, strict=True)],
        "failed": {row["problem"]: f"{row['status']}: {row['reason']}" for row in found.rows if row["status"] != "ok"},
        "refused": {p: [row["problem"] for row in found.rows if not passed(row, p)] for p in protocols},
        "suspects": {p: [row["problem"] for row in found.rows if is_suspect(row, p)] for p in protocols},
        "costs": costs(found.rows),
        "roofline": {row["problem"]: fraction(row, first) for row in found.rows},
        "above_floor_ms": [
            {"problem": row["problem"], "ours_ms": our_time(row, first), "floor_ms": floor_ms(row), "above_ms": above}
            for row, above in above_floor(found.rows, first)
        ],
    }
