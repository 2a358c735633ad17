"""What one run of the benchmark leaves: a header and one row a problem, as JSON lines.

A folder of results holds `run.json` (a Header) and `rows.jsonl` (a Row a line, appended as each problem ends). Times
are milliseconds, sizes bytes. A field that was not measured is absent, never zero.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable
from typing import Any, Literal, TypedDict

from ..errors import UserError
from .schema import fits

Status = Literal["ok", "failed", "crashed", "timeout", "out_of_memory"]
Mode = Literal["train", "eval"]
Kind = Literal["kernelbench", "model"]

# Every way a problem is run. "ours" has the default weights policy, "ours_frozen" freeze=True; "half" is the model cast
# to half and channels_last, then compiled; "eager_tf32" is eager with TF32 allowed everywhere.
BASELINES = ("eager", "default", "reduce-overhead", "max-autotune", "half", "eager_tf32")
VARIANTS = (*BASELINES, "ours", "ours_frozen")
PROTOCOLS = ("seed", "equal", "verified")


class Time(TypedDict, total=False):
    """Of one variant, in one process with all others, L2 flushed before each sample."""

    wall_ms: float  # median
    low_ms: float  # 25th and 75th percentile
    high_ms: float
    samples: list[float]  # wall, in the order taken
    kernels_ms: float  # summed time of the device's kernels in one call; CUDA only
    overhead_us: float  # CPU time of one call that launches and does not wait
    peak_bytes: int  # most device memory a call held beyond inputs and weights
    prepare_s: float  # compile or optimize, and the first call


class Error(TypedDict, total=False):
    """Of one output compared; the worst over outputs and inputs."""

    rms: float  # relative to the truth's RMS
    largest: float  # relative to the truth's largest element
    eager_rms: float  # the same of eager, where the protocol measures it
    eager_largest: float
    between_inputs: float  # RMS of the error over the RMS difference between outputs of different inputs


class Judgement(TypedDict, total=False):
    """One protocol's word on one problem."""

    passed: bool
    why: str  # the first reason it failed, empty when passed
    error: Error
    baseline: str  # the variant that the speed is relative to
    speedup: float  # wall; baseline over ours, or over what runs in its place when `passed` is false
    speedup_kernels: float  # the same of summed kernel time
    suspect: str  # empty, or why a figure cannot be true: faster than the roofline


class Floor(TypedDict, total=False):
    """The least time the device could take."""

    bytes: int  # inputs, weights and outputs, each once
    flops: float
    bytes_ms: float  # at the datasheet's bandwidth
    flops_ms: float  # at the datasheet's rate for the arithmetic that the protocol allows
    fraction: float  # max(bytes_ms, flops_ms) over our wall time


class Region(TypedDict, total=False):
    """As explain() shows it."""

    kind: str  # "external" for what stayed with PyTorch
    nodes: list[str]
    kernel: str
    source: str
    verdict: str
    why: str
    before_ms: float
    after_ms: float


class Row(TypedDict, total=False):
    """One problem in one mode."""

    problem: str  # "level1/19_ReLU"
    level: int
    mode: Mode
    status: Status
    reason: str  # empty when status is "ok"
    sentinel: bool  # repeated in each shard, to compare shards with each other; counted once
    shard: str  # "1/4": the first of four
    seconds: float  # of the whole problem
    tried: list[str]  # variants, in the order timed
    cached: list[str]  # variants whose times are an earlier run's: for daily use, never published
    not_run: dict[str, str]  # variant -> why: "timed out after 60 s", an exception in one line
    times: dict[str, Time]
    judged: dict[str, Judgement]  # by protocol
    floor: Floor
    constant_output: bool  # the same for different inputs
    finite_only: list[str]  # rewrites that assume finite values and fired
    cache_bytes: int  # what optimizing wrote
    regions: list[Region]


class Header(TypedDict, total=False):
    """What all rows of a folder have in common."""

    kind: Kind
    commit: str
    dirty: bool  # the working tree had changes
    date: str  # UTC, ISO 8601
    command: str
    device: str  # "NVIDIA H200", or the processor's name
    machine: dict[str, Any]  # driver, clocks, versions, threads
    flags: dict[str, Any]  # TF32, precision, cudnn
    options: dict[str, Any]  # of cudaagent.optimize
    problems: list[str]  # all that were asked for, in order
    baselines: str  # commit and date of the run that the cached baselines come from
    device_seconds: float


ROWS, HEADER = "rows.jsonl", "run.json"


def _parse(line: str) -> Row | None:
    """A row, or nothing where the line was cut short or is something else."""
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError):
        return None
    if not fits(row, Row) or not row.keys() >= {"problem", "level", "mode", "status"}:
        return None
    found: Row = {"reason": "", **row}
    return found


def _lines(folder: pathlib.Path) -> list[str]:
    path = folder / ROWS
    text = path.read_text(errors="replace") if path.is_file() else ""
    return [line for line in text.splitlines() if line.strip()]


def read_rows(folder: pathlib.Path) -> list[Row]:
    """The rows of a folder; what is no row is left out, and the later of two rows of one problem counts."""
    rows: dict[tuple[str, str, str], Row] = {}
    for row in filter(None, map(_parse, _lines(folder))):
        key = (row["problem"], row["mode"], row.get("shard", "") if row.get("sentinel") else "")
        rows.pop(key, None)
        rows[key] = row
    return list(rows.values())


def count_unreadable(folder: pathlib.Path) -> int:
    """Lines of a folder's rows that are none."""
    return sum(_parse(line) is None for line in _lines(folder))


def append_row(folder: pathlib.Path, row: Row) -> None:
    """On a line of its own, whatever a run that was cut short left at the end."""
    path = folder / ROWS
    whole = not path.is_file() or path.read_bytes()[-1:] in (b"", b"\n")
    with path.open("a") as out:
        out.write(("" if whole else "\n") + json.dumps(row) + "\n")


def read_header(folder: pathlib.Path) -> Header:
    damage = ""
    try:
        header = json.loads((folder / HEADER).read_text())
        if not fits(header, Header) or not header.keys() >= {"device", "commit", "date"}:
            damage = "is not what a run writes"
    except (OSError, ValueError, RecursionError):
        damage = "cannot be read"
    if damage:
        raise UserError(f"{folder} holds no run of the benchmark ({HEADER} {damage}); name the folder given to --out.")
    found: Header = {"problems": [], "device_seconds": 0.0, "command": "", **header}
    return found


def counted(rows: Iterable[Row]) -> list[Row]:
    """Each problem once: a sentinel's repetitions are left out where the problem has a row of its own."""
    first: dict[tuple[str, str], Row] = {}
    for row in sorted(rows, key=lambda row: bool(row.get("sentinel"))):
        first.setdefault((row["problem"], row["mode"]), row)
    return list(first.values())
