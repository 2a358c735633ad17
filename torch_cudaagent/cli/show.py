"""Tables of the command line."""

from __future__ import annotations

import datetime
import math
from typing import Any

import click
from rich.console import Console
from rich.table import Table


def console() -> Console:
    """Standard output; wide enough for the tables where it is no terminal."""
    found = Console()
    return found if found.is_terminal else Console(width=140)


def _microseconds(value: float | None) -> str:
    return f"{value:.1f}" if value else ""


def worst(region: dict[str, Any]) -> str:
    """The largest error of any input family, and eager's in the same family."""
    families = [f for f in region.get("verdict", {}).get("families", []) if f["family"] != "special"]
    if not families:
        return ""
    kernel, eager = max((rms(f["kernel"]), rms(f["eager"])) for f in families)
    return f"{kernel:.1e} ({eager:.1e})"


def rms(errors: list[float | None]) -> float:
    """The first of (rms, max, worst row); null stands for infinity, which JSON lacks."""
    return math.inf if errors[0] is None else errors[0]


def regions(report: dict[str, Any]) -> None:
    """Equal regions in one row: kernel, operators, error against fp64 with eager's beside it, times of one of them."""
    table = Table("region", "count", "operators", "rms error vs fp64 (eager's)", "before us", "after us", "x")
    table.columns[0].no_wrap = True  # a name is looked for whole
    table.columns[2].overflow = "fold"
    generated: dict[tuple[str, ...], int] = {}
    external: dict[tuple[str, str], int] = {}
    for graph in report["graphs"]:
        for region in (region for program in graph["programs"] for region in program["regions"]):
            operators = ", ".join(op.removeprefix("aten::") for op in region["nodes"])
            if region["kind"] == "external":
                key = (operators, region.get("why", ""))
                external[key] = external.get(key, 0) + 1
            elif region["kind"] == "generated":
                verdict = region.get("verdict", {})
                before, after = verdict.get("eager_us", 0), verdict.get("kernel_us", 0)
                ratio = f"{before / after:.2f}" if before and after else ""
                times = _microseconds(before), _microseconds(after), ratio
                row = (region["name"], operators, worst(region), *times)
                generated[row] = generated.get(row, 0) + 1
        if graph["why_eager"]:
            key = ("a whole graph", graph["why_eager"])
            external[key] = external.get(key, 0) + 1
    for (name, *columns), count in generated.items():
        table.add_row(name, str(count), *columns)
    out = console()
    out.print(table)
    for (operators, why), count in external.items():
        out.print(f"with PyTorch: {count} x {operators}: {why}", markup=False)


def entries(listed: list[dict[str, Any]], directory: str) -> None:
    table = Table("digest", "kind", "size", "used", "what")
    for entry in sorted(listed, key=lambda e: -e["modified"]):
        fields = ", ".join(f"{name}={value[:20]}" for name, value in entry["fields"])
        used = datetime.datetime.fromtimestamp(entry["modified"]).isoformat(" ", "seconds")
        table.add_row(entry["digest"][:12], entry["kind"], f"{entry['bytes']:,}", used, entry["damage"] or fields)
    console().print(table)
    click.echo(f"{len(listed)} entries, {sum(e['bytes'] for e in listed) / 2**20:.1f} MiB in {directory}")


def relatives(listed: list[dict[str, Any]], digest: str) -> None:
    """The entry and, nearest first, those of its kind that differ in few fields."""
    mine = next((entry for entry in listed if entry["digest"].startswith(digest)), None)
    if mine is None:
        raise click.UsageError(f"No entry's digest starts with {digest}; `cudaagent cache ls` lists them.")
    for name, value in mine["fields"]:
        click.echo(f"{name:12s} {value}")
    fields = dict(mine["fields"])
    others = []
    for entry in listed:
        if entry is mine or entry["kind"] != mine["kind"]:
            continue
        differs = [name for name, value in entry["fields"] if fields.get(name) != value]
        others.append((len(differs), entry["digest"][:12], differs))
    for _, other, differs in sorted(others)[:3]:
        click.echo(f"{other} differs in {', '.join(differs)}")


def findings(found: list[dict[str, Any]]) -> None:
    table = Table("what", "state", "detail")
    for finding in found:
        table.add_row(finding["what"], finding["state"], finding["detail"])
    console().print(table)
