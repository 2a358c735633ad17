"""Made-up runs of the benchmark: every state a row can be in."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from torch_cudaagent.bench.row import HEADER, Header, Row, Status, append_row
from torch_cudaagent.bench.score import score

REGION: Any = {
    "kind": "generated",
    "nodes": ["aten::relu"],
    "kernel": "ca_k",
    "source": "int a<b>;",
    "verdict": "passed",
    "why": "",
}


def make_row(problem: str, ours: float | None = 1.0, passed: bool = True, **more: Any) -> Row:
    """`ours` in milliseconds; eager takes 4, torch.compile's default 2, max-autotune 1.5."""
    walls = {"eager": 4.0, "default": 2.0, "max-autotune": 1.5} | ({"ours": ours} if ours else {})
    times: Any = {
        name: {"wall_ms": ms, "low_ms": ms * 0.99, "high_ms": ms * 1.01, "samples": [ms * 0.99, ms, ms * 1.01]}
        for name, ms in walls.items()
    }
    judgement: Any = {"passed": passed, "why": "" if passed else "too far from the truth", "error": {"rms": 1e-7}}
    row: Row = {
        "problem": problem,
        "level": int(problem[5]),
        "mode": "train",
        "status": "ok",
        "reason": "",
        "times": times,
        "judged": {"seed": dict(judgement), "equal": dict(judgement)},
        "floor": {"bytes": 10, "flops": 1e6, "bytes_ms": 0.2, "flops_ms": 0.1},
        "regions": [REGION],
        "not_run": {},
    }
    row.update(more)  # type: ignore[typeddict-item]
    score(row)
    return row


def failed_row(problem: str, status: Status = "crashed") -> Row:
    reason = "SIGSEGV </script>"
    return {"problem": problem, "level": int(problem[5]), "mode": "train", "status": status, "reason": reason}


def write_run(folder: pathlib.Path, rows: list[Row], problems: list[str] | None = None, **more: Any) -> pathlib.Path:
    folder.mkdir(parents=True)
    header: Header = {
        "kind": "kernelbench",
        "commit": "abc1234",
        "dirty": False,
        "date": "2026-01-01T00:00:00+00:00",
        "command": "cudaagent bench kernelbench",
        "device": "NVIDIA H200",
        "machine": {"torch": "2.11.0"},
        "flags": {},
        "options": {},
        "problems": problems if problems is not None else [row["problem"] for row in rows],
        "device_seconds": 12.0,
    }
    header.update(more)  # type: ignore[typeddict-item]
    (folder / HEADER).write_text(json.dumps(header))
    for row in rows:
        append_row(folder, row)
    return folder
