"""The speed of a row under each protocol, from the times that were taken side by side."""

from __future__ import annotations

from . import floor
from .row import Row

COMPILED = ("default", "reduce-overhead", "max-autotune")


def baseline_of(protocol: str, row: Row) -> str:
    """What a protocol compares with; eager where torch.compile failed, since that is what its user would run."""
    walls = {name: found["wall_ms"] for name, found in row.get("times", {}).items() if found.get("wall_ms")}
    if protocol == "verified":
        return "eager_tf32" if "eager_tf32" in walls else "eager"
    modes = ("default",) if protocol == "seed" else COMPILED
    return min((name for name in modes if name in walls), key=walls.__getitem__, default="eager")


def score(row: Row) -> None:
    """Fills in baseline, speedups and suspicion of every judgement. A refused result runs as its fallback, eager."""
    times = row.get("times", {})
    for protocol, judgement in row.get("judged", {}).items():
        baseline = baseline_of(protocol, row)
        runs = "ours" if judgement.get("passed") and "ours" in times else "eager"
        judgement["baseline"] = baseline
        base, mine = times.get(baseline, {}), times.get(runs, {})
        if base.get("wall_ms") and mine.get("wall_ms"):
            judgement["speedup"] = base["wall_ms"] / mine["wall_ms"]
        if base.get("kernels_ms") and mine.get("kernels_ms"):
            judgement["speedup_kernels"] = base["kernels_ms"] / mine["kernels_ms"]
        doubt = floor.suspicion(row.get("floor", {}), mine.get("wall_ms")) if runs == "ours" else ""
        judgement["suspect"] = doubt or (
            floor.suspicion(row.get("floor", {}), mine.get("kernels_ms")) if runs == "ours" else ""
        )
