"""The report's figures, as plotly figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .metrics import Summary, floor_ms, passed, runs_as, speedup
from .row import BASELINES, Header, Row

_HEIGHT = 460


def _figure(title: str, x: str, y: str, **axes: Any) -> Any:
    from plotly import graph_objects

    figure = graph_objects.Figure()
    figure.update_layout(title=title, height=_HEIGHT, template="plotly_white", hovermode="closest", **axes)
    figure.update_xaxes(title=x)
    figure.update_yaxes(title=y)
    return figure


def speedups(summary: Summary, protocol: str) -> Any:
    """Baseline over ours for each problem, a series for each baseline; a click on the legend picks one."""
    figure = _figure(
        f"speedup by problem, {protocol} ({summary.mode} mode)", "", "baseline time / ours", yaxis={"type": "log"}
    )
    for baseline in BASELINES:
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
    figure.add_hline(y=1, line={"dash": "dot"})
    figure.update_xaxes(showticklabels=len(summary.rows) <= 60)
    return figure


def roofline(summary: Summary, protocol: str) -> Any:
    """Our time against the least the device could take; nothing can be under the line."""
    axes: Any = {"xaxis": {"type": "log"}, "yaxis": {"type": "log"}}
    figure = _figure(f"time against the floor, {protocol} ({summary.mode} mode)", "floor, ms", "time, ms", **axes)
    found = [(row, least) for row in summary.rows if (least := floor_ms(row)) and _ours(row, protocol)]
    if not found:
        return None
    for level in summary.levels:
        mine = [(row, least) for row, least in found if row["level"] == level]
        figure.add_scatter(
            x=[least for _, least in mine],
            y=[_ours(row, protocol) for row, _ in mine],
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
    figure = _figure("geomean over the runs", "commit", "geomean speedup")
    ordered = sorted(runs, key=lambda run: run[0]["date"])
    series: dict[str, list[tuple[str, float]]] = {}
    for header, summaries in ordered:
        for summary in summaries:
            for (protocol, view, level), found in summary.speeds.items():
                if view == "all" and level == 0:
                    label = f"{header['commit']} {header['date'][:10]}"
                    series.setdefault(f"{protocol}, {summary.mode}", []).append((label, found.geomean))
    for name, points in series.items():
        figure.add_scatter(x=[x for x, _ in points], y=[y for _, y in points], mode="lines+markers", name=name)
    return figure


def _ours(row: Row, protocol: str) -> float | None:
    return row.get("times", {}).get(runs_as(row, protocol), {}).get("wall_ms")
