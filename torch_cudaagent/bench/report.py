"""One self-contained HTML page of one or more runs: it works from a file, with no network."""

from __future__ import annotations

import importlib.util
import json
import pathlib
from collections.abc import Sequence
from typing import Any

from ..errors import UserError
from . import plots
from .metrics import above_floor, floor_ms, fraction, our_time, passed, speedup
from .row import Header, Row, count_unreadable, read_header, read_rows
from .summary import ALL, Summary, costs, protocols_of, summarise
from .text import unfinished

_NEEDS = ("plotly", "jinja2")


def write(folders: Sequence[pathlib.Path], page: pathlib.Path) -> None:
    """The last folder's run in full; of the others their place in the progress."""
    missing = [name for name in _NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f"A report needs {' and '.join(missing)}; run `pip install 'torch_cudaagent[bench]'`.")
    runs = [(header, summarise(header, read_rows(folder))) for folder in folders for header in [read_header(folder)]]
    text = render(runs, count_unreadable(folders[-1]))
    try:
        page.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"Cannot write {page} ({error.strerror}); name another file with --out.") from error


def render(runs: Sequence[tuple[Header, Sequence[Summary]]], unreadable: int = 0) -> str:
    import jinja2
    from plotly.offline import get_plotlyjs

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("torch_cudaagent.bench", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    header, summaries = runs[-1]
    return environment.get_template("report.html").render(
        header=header,
        unreadable=unreadable,
        unfinished=unfinished(header, summaries),
        summaries=[_section(summary) for summary in summaries],
        plots=_script_json(_figures(runs)),
        samples=_script_json({key(row): _samples(row) for summary in summaries for row in summary.rows}),
        plotlyjs=get_plotlyjs(),
    )


def _script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value).replace("<", "\\u003c")


def key(row: Row) -> str:
    return f"{row['problem']} {row['mode']}"


def _figures(runs: Sequence[tuple[Header, Sequence[Summary]]]) -> list[Any]:
    figures = [
        plot(summary, protocol)
        for summary in runs[-1][1]
        for protocol in protocols_of(summary.rows)
        for plot in (plots.speedups, plots.roofline, plots.errors)
    ]
    figures.append(plots.progress(runs) if len(runs) > 1 else None)
    return [json.loads(figure.to_json()) for figure in figures if figure is not None]


def _section(summary: Summary) -> dict[str, Any]:
    protocols = protocols_of(summary.rows)
    first = next(iter(protocols), "")
    speeds = [
        {"protocol": protocol, "level": level or "all", "view": view, "speed": speed}
        for (protocol, view, level), speed in summary.shown()
    ]
    over = [
        {"protocol": protocol, "level": level or "all", "baseline": baseline, "over": found}
        for (protocol, view, level), by_baseline in summary.over.items()
        if view == ALL
        for baseline, found in by_baseline.items()
    ]
    above = [
        {"key": key(row), "row": row, "ours": our_time(row, first), "floor": floor_ms(row), "above": excess}
        for row, excess in above_floor(summary.rows, first)
    ]
    return {
        "mode": summary.mode,
        "missing": summary.missing,
        "speeds": speeds,
        "over": over,
        "costs": costs(summary.rows),
        "above": above,
        "protocols": protocols,
        "rows": [_row(row, protocols) for row in summary.rows],
    }


def _row(row: Row, protocols: Sequence[str]) -> dict[str, Any]:
    """What the table and the details of a problem show."""
    first = next(iter(protocols), "")
    times: Any = row.get("times", {})
    return {
        "key": key(row),
        "row": row,
        "walls": {name: found.get("wall_ms") for name, found in times.items()},
        "speedups": {protocol: speedup(row, protocol) for protocol in protocols},
        "passed": {protocol: passed(row, protocol) for protocol in protocols},
        "judged": row.get("judged", {}),
        "fraction": fraction(row, first),
        "times": times,
        "not_run": row.get("not_run", {}),
        "regions": row.get("regions", []),
    }


def _samples(row: Row) -> dict[str, list[float]]:
    return {name: found["samples"] for name, found in row.get("times", {}).items() if "samples" in found}
