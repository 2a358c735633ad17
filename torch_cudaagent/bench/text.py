"""Plain tables of a run, for the terminal and for the README."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from ..errors import UserError
from .compare import Change
from .metrics import above_floor, floor_ms, fraction, our_time
from .row import Header
from .summary import ALL, Summary, costs, protocols_of

_BEGIN, _END = "<!-- cudaagent bench readme: begin -->", "<!-- cudaagent bench readme: end -->"
_BASELINE_NAMES = {"seed": "torch.compile", "equal": "best torch.compile mode", "verified": "eager with TF32"}


def _rate(value: float) -> str:
    return f"{value:.1%}"


def _level(level: int) -> str:
    return "all" if level == 0 else str(level)


def title(header: Header) -> str:
    dirty = " with changes" if header.get("dirty") else ""
    earlier = header.get("baselines")
    warning = f"; BASELINES OF AN EARLIER RUN, {earlier}: not for publication" if earlier else ""
    return f"{header['device']}, commit {header['commit']}{dirty}, {header['date']}{warning}"


def unfinished(header: Header, summaries: Sequence[Summary]) -> str:
    """What a run still owes, or nothing."""
    owed = [name for summary in summaries for name in summary.missing] if summaries else header["problems"]
    some = ", ".join(owed[:5]) + (", ..." if len(owed) > 5 else "")
    return f"NOT FINISHED: {len(owed)} problems have no row yet: {some}" if owed else ""


def print_summary(console: Console, header: Header, summaries: Sequence[Summary], unreadable: int, top: int) -> None:
    """Rates and means by protocol and level, means without what needs no work, baselines, costs, the map."""
    console.print(f"{title(header)}\n{header['device_seconds']:.0f} s of the device", markup=False)
    if unreadable:
        console.print(f"{unreadable} lines of the file are no rows and were left out", markup=False)
    if owed := unfinished(header, summaries):
        console.print(owed, markup=False)
    for summary in summaries:
        _print_state(console, summary)
        console.print(speed_table(summary))
        for protocol in protocols_of(summary.rows):
            console.print(over_table(summary, protocol))
        if found := costs(summary.rows):
            console.print(cost_table(found))
        _print_map(console, summary, top)


def _print_state(console: Console, summary: Summary) -> None:
    rows = summary.rows
    console.print(f"\n{summary.mode} mode: {len(rows)} problems", markup=False)
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
    for (protocol, view, level), found in summary.shown():
        if view != ALL and level:
            continue
        kernels = f"{found.geomean_kernels:.2f}" if found.geomean_kernels else ""
        table.add_row(
            protocol,
            _level(level) if view == ALL else view,
            str(found.count),
            _rate(found.passed),
            _rate(found.faster),
            f"{found.geomean:.2f}",
            f"{found.median:.2f}",
            kernels,
            str(found.suspects or ""),
        )
    return table


def over_table(summary: Summary, protocol: str) -> Table:
    """Geomean (median) over each baseline; in the first column on how many problems."""
    by_level = [
        (_level(level), over) for (name, view, level), over in summary.over.items() if (name, view) == (protocol, ALL)
    ]
    levels = ("" if level == "all" else f"level {level}" for level, _ in by_level)
    table = Table(f"{protocol}: over", "problems", *(level or "geomean (median)" for level in levels))
    for baseline, overall in by_level[0][1].items():
        cells = (over.get(baseline) for _, over in by_level)
        table.add_row(baseline, str(overall.count), *(f"{x.geomean:.2f} ({x.median:.2f})" if x else "" for x in cells))
    return table


def cost_table(medians: dict[str, dict[str, float]]) -> Table:
    """By variant; a cell is empty where nothing was measured."""
    units = {"prepare_s": ("to prepare, s", 1), "overhead_us": ("a call, us", 1)}
    units |= {"peak_bytes": ("peak memory, MiB", 2**20), "cache_bytes": ("cache, KiB", 2**10)}
    table = Table("median cost", *(name for name, _ in units.values()))
    for variant, found in medians.items():
        cells = (f"{found[field] / unit:.1f}" if field in found else "" for field, (_, unit) in units.items())
        table.add_row(variant, *cells)
    return table


def _print_map(console: Console, summary: Summary, top: int) -> None:
    protocol = next(iter(protocols_of(summary.rows)), "")
    found = above_floor(summary.rows, protocol, top)
    if not found:
        return
    table = Table("problem", "ours ms", "floor ms", "above ms", "of roofline", title="largest time above the floor")
    for row, above in found:
        ours, least = our_time(row, protocol) or 0.0, floor_ms(row) or 0.0
        table.add_row(
            row["problem"], f"{ours:.3f}", f"{least:.3f}", f"{above:.3f}", _rate(fraction(row, protocol) or 0.0)
        )
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
    if not summaries:
        raise UserError("No problem of the run has ended yet; go on with it by --resume.")
    if header.get("baselines"):
        raise UserError("This run took its baselines from an earlier one; publish a run without --baselines.")
    lines = [
        _BEGIN,
        f"On one {header['device']}, commit {header['commit']}, `cudaagent bench {header.get('kind', 'kernelbench')}`:",
        "",
        "| mode | protocol | level | problems | passed | faster | geomean | median | over |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for summary in summaries:
        for (protocol, view, level), found in summary.shown():
            if view == ALL or level == 0:
                lines.append(
                    f"| {summary.mode} | {protocol} | {_level(level) if view == ALL else view} | {found.count} | "
                    f"{_rate(found.passed)} | {_rate(found.faster)} | {found.geomean:.2f} | {found.median:.2f} | "
                    f"{_BASELINE_NAMES[protocol]} |"
                )
    owed = unfinished(header, summaries)
    return "\n".join([*lines, *(["", owed] if owed else []), _END])


def with_table(readme: pathlib.Path, table: str) -> str:
    """The README's text with the table between its markers."""
    text = readme.read_text()
    if _BEGIN not in text or _END not in text:
        raise UserError(f"{readme} has no place for the table; put two lines where it belongs: {_BEGIN} and {_END}")
    return text[: text.index(_BEGIN)] + table + text[text.index(_END) + len(_END) :]
