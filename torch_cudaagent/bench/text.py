"""Plain tables of a run, for the terminal and for the README."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from ..errors import UserError
from .compare import Change
from .metrics import Summary, above_floor, costs, floor_ms, over_baselines, protocols_of, runs_as
from .row import Header

_BEGIN, _END = "<!-- cudaagent bench readme: begin -->", "<!-- cudaagent bench readme: end -->"
_BASELINE_NAMES = {"seed": "torch.compile", "equal": "best torch.compile mode", "verified": "eager with TF32"}


def _rate(value: float) -> str:
    return f"{value:.1%}"


def _level(level: int) -> str:
    return "all" if level == 0 else str(level)


def print_summary(console: Console, header: Header, summaries: Sequence[Summary], unreadable: int, top: int) -> None:
    """Rates and means by protocol and level, means without what needs no work, baselines, costs, the map."""
    dirty = " with changes" if header.get("dirty") else ""
    console.print(f"{header['device']}, commit {header['commit']}{dirty}, {header['date']}", markup=False)
    if header.get("baselines"):
        console.print(f"BASELINES OF AN EARLIER RUN, {header['baselines']}: not for publication", markup=False)
    for summary in summaries:
        _print_state(console, summary, unreadable)
        console.print(speed_table(summary))
        for protocol in protocols_of(summary.rows):
            ratios = over_baselines(summary.rows, protocol)
            words = ", ".join(f"{name} {ratio:.2f} ({count})" for name, (ratio, count) in ratios.items())
            console.print(f"{protocol}: geomean over each baseline (problems it ran on): {words}", markup=False)
        for name, value in costs(summary.rows).items():
            console.print(f"median {name}: {value:.4g}", markup=False)
        _print_map(console, summary, top)


def _print_state(console: Console, summary: Summary, unreadable: int) -> None:
    rows = summary.rows
    console.print(f"\n{summary.mode} mode: {len(rows)} problems", markup=False)
    if summary.missing:
        some = ", ".join(summary.missing[:5]) + (", ..." if len(summary.missing) > 5 else "")
        console.print(f"NOT FINISHED: {len(summary.missing)} problems have no row yet: {some}", markup=False)
    if unreadable:
        console.print(f"{unreadable} lines of the file are no rows and were left out", markup=False)
    for row in rows:
        if row["status"] != "ok":
            console.print(f"  {row['status']}: {row['problem']}: {row['reason']}", markup=False)
        for protocol, judgement in row.get("judged", {}).items():
            if not judgement.get("passed"):
                console.print(f"  refused by {protocol}: {row['problem']}: {judgement.get('why', '')}", markup=False)
            elif judgement.get("suspect"):
                console.print(f"  suspect: {row['problem']}: {judgement['suspect']}", markup=False)
        for variant, why in row.get("not_run", {}).items():
            console.print(f"  not run: {row['problem']}: {variant}: {why}", markup=False)


def speed_table(summary: Summary) -> Table:
    table = Table("protocol", "level", "problems", "passed", "faster", "geomean", "median", "of kernels", "suspect")
    for (protocol, view, level), found in summary.speeds.items():
        if view != "all" and (level or found == summary.speeds[protocol, "all", level]):
            continue
        kernels = f"{found.geomean_kernels:.2f}" if found.geomean_kernels else ""
        table.add_row(
            protocol,
            _level(level) if view == "all" else view,
            str(found.count),
            _rate(found.passed),
            _rate(found.faster),
            f"{found.geomean:.2f}",
            f"{found.median:.2f}",
            kernels,
            str(found.suspects or ""),
        )
    return table


def _print_map(console: Console, summary: Summary, top: int) -> None:
    protocol = next(iter(protocols_of(summary.rows)), "")
    found = above_floor(summary.rows, protocol, top)
    if not found:
        return
    table = Table("problem", "ours ms", "floor ms", "above ms", "of roofline", title="largest time above the floor")
    for row, above in found:
        ours, least = row["times"][runs_as(row, protocol)]["wall_ms"], floor_ms(row) or 0.0
        table.add_row(row["problem"], f"{ours:.3f}", f"{least:.3f}", f"{above:.3f}", _rate(least / ours))
    console.print(table)


def print_changes(console: Console, changes: Sequence[Change]) -> None:
    for kind in ("broke", "slower", "mended", "faster", "gone", "new"):
        some = [change for change in changes if change.kind == kind]
        if not some:
            continue
        table = Table("problem", "mode", "before", "after", "noise", title=f"{kind}: {len(some)}")
        for change in some:
            before, after = (f"{x:.2f}" if x else "" for x in (change.before, change.after))
            table.add_row(change.problem, change.mode, before, after, _rate(change.noise))
        console.print(table)
    console.print(f"{sum(change.kind == 'same' for change in changes)} the same within noise (eager over ours)")


def readme_table(header: Header, summaries: Sequence[Summary]) -> str:
    """Markdown between its markers."""
    if header.get("baselines"):
        raise UserError("This run took its baselines from an earlier one; publish a run without --baselines.")
    lines = [
        _BEGIN,
        f"On one {header['device']}, commit {header['commit']}, `cudaagent bench kernelbench`:",
        "",
        "| mode | protocol | level | problems | passed | faster | geomean | over |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for summary in summaries:
        for (protocol, view, level), found in summary.speeds.items():
            if view == "all":
                lines.append(
                    f"| {summary.mode} | {protocol} | {_level(level)} | {found.count} | {_rate(found.passed)} | "
                    f"{_rate(found.faster)} | {found.geomean:.2f} | {_BASELINE_NAMES[protocol]} |"
                )
    return "\n".join([*lines, _END])


def with_table(readme: pathlib.Path, table: str) -> str:
    """The README's text with the table between its markers."""
    text = readme.read_text()
    if _BEGIN not in text or _END not in text:
        raise UserError(f"{readme} has no place for the table; put two lines where it belongs: {_BEGIN} and {_END}")
    return text[: text.index(_BEGIN)] + table + text[text.index(_END) + len(_END) :]
