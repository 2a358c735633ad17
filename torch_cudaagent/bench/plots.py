"""The report's figures, as plotly figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .metrics import COMPARED, floor_ms, our_time, passed, speedup
from .row import Header
from .summary import ALL, Summary

_HEIGHT = 400
_MARGIN = {"t": 50, "b": 50}


def _figure(title: str, x: str, y: str, **axes: Any) -> Any:
    from plotly import graph_objects

    figure = graph_objects.Figure()
    figure.update_layout(
        title=title, height=_HEIGHT, template="plotly_white", hovermode="closest", margin=_MARGIN, **axes
    )
    figure.update_xaxes(title=x)
    figure.update_yaxes(title=y)
    return figure


def speedups(summary: Summary, protocol: str) -> Any:
    """Baseline over ours for each problem, a series for each baseline; a click on the legend picks one."""
    figure = _figure(
        f"speedup by problem, {protocol} ({summary.mode} mode)", "", "baseline time / ours", yaxis={"type": "log"}
    )
    for baseline in COMPARED:
        found = [(row, ratio) for row in summary.rows if (ratio := speedup(row, protocol, baseline=baseline))]
        if found:
            figure.add_scatter(
                x=[row["problem"] for row, _ in found],
                y=[ratio for _, ratio in found],
                mode="markers",
                name=f"over {baseline}",
                marker={"symbol": ["circle" if passed(row, protocol) else "x" for row, _ in found]},
                visible=True if baseline in ("eager", "default") else "legendonly",
            )
    if not figure.data:
        return None
    figure.add_hline(y=1, line={"dash": "dot"})
    figure.update_xaxes(type="category", showticklabels=len(summary.rows) <= 60)
    figure.update_layout(legend={"title": {"text": "click to choose"}})
    return figure


def roofline(summary: Summary, protocol: str) -> Any:
    """Our time against the least the device could take; nothing can be under the line."""
    axes: Any = {"xaxis": {"type": "log"}, "yaxis": {"type": "log"}}
    figure = _figure(f"time against the floor, {protocol} ({summary.mode} mode)", "floor, ms", "time, ms", **axes)
    found = [(row, least) for row in summary.rows if (least := floor_ms(row)) and our_time(row, protocol)]
    if not found:
        return None
    for level in summary.levels:
        mine = [(row, least) for row, least in found if row["level"] == level]
        figure.add_scatter(
            x=[least for _, least in mine],
            y=[our_time(row, protocol) for row, _ in mine],
            text=[row["problem"] for row, _ in mine],
            mode="markers",
            name=f"level {level}",
        )
    ends = [min(least for _, least in found), max(least for _, least in found)]
    figure.add_scatter(x=ends, y=ends, mode="lines", name="floor", line={"dash": "dot"})
    return figure


def errors(summary: Summary, protocol: str) -> Any:
    """Relative RMS error against speedup."""
    axes: Any = {"xaxis": {"type": "log"}, "yaxis": {"type": "log"}}
    figure = _figure(f"error against speed, {protocol} ({summary.mode} mode)", "relative RMS error", "speedup", **axes)
    found = []
    for row in summary.rows:
        error = row.get("judged", {}).get(protocol, {}).get("error", {}).get("rms")
        ratio = speedup(row, protocol)
        if error is not None and ratio:
            found.append((row["problem"], max(error, 1e-12), ratio, passed(row, protocol)))
    for right, name in ((True, "passed"), (False, "refused")):
        some = [point for point in found if point[3] == right]
        if some:
            names, x, y, _ = zip(*some, strict=True)
            figure.add_scatter(x=x, y=y, text=names, mode="markers", name=name)
    return figure if found else None


def progress(runs: Sequence[tuple[Header, Sequence[Summary]]]) -> Any:
    """Geomean of each protocol over the runs, in the order of their dates."""
    figure = _figure("geomean over the runs", "commit", "geomean speedup over the protocol's baseline")
    ordered = sorted(runs, key=lambda run: run[0]["date"])
    series: dict[str, list[tuple[str, float, str]]] = {}
    for header, summaries in ordered:
        label = f"{header['commit']} {header['date'][:16]}"
        for summary in summaries:
            for (protocol, view, level), found in summary.speeds.items():
                if view == ALL and level == 0:
                    # Runs of other problems or devices are no progress: who hovers sees which they are.
                    about = f"{found.count} problems, {header['device']}"
                    series.setdefault(f"{protocol}, {summary.mode}", []).append((label, found.geomean, about))
    for name, points in series.items():
        x, y, text = zip(*points, strict=True)
        figure.add_scatter(x=x, y=y, text=text, mode="lines+markers", name=name)
    figure.update_xaxes(type="category")
    return figure if series else None
