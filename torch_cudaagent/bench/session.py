"""One run from its folder's header to its last row: opened or gone on with, shown as it goes, stopped without loss."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..errors import UserError
from .baselines import EarlierRun
from .machine import make_header
from .row import HEADER, Header, Kind, Row, append_row, read_header, read_rows
from .runner import Runner
from .scheduler import Limits
from .selection import not_done
from .tasks import Task
from .worker import Settings

_MEMORY_SHARE = 0.85  # of the device's memory, and of the host's, for all processes together
_BATCH = 3  # problems a worker prepares before timing begins


@dataclasses.dataclass
class Plan:
    """What the command line asked for, whichever the problems."""

    out: pathlib.Path
    device: str
    variants: tuple[str, ...]
    protocols: tuple[str, ...]
    seconds: float = 3.0
    resume: bool = False
    workers: int = 0  # 0: half the cores, one on the CPU
    variant_limit: float = 150.0
    stage_limit: float = 240.0
    stop_after: float = float("inf")
    baselines: pathlib.Path | None = None  # an earlier run's folder


def execute(plan: Plan, kind: Kind, tasks: list[Task], names: list[str], shard: str = "1/1") -> int:
    """Runs what has no row yet. The number of problems without one when it ended; -1 if the user stopped it."""
    earlier = EarlierRun(plan.baselines, plan.device) if plan.baselines else None
    tasks = _open_folder(plan, kind, tasks, names, shard, earlier.name if earlier else "")
    began = time.monotonic()
    signal.signal(signal.SIGTERM, _stop)  # `timeout` and schedulers send it
    try:
        with _Display(len(tasks)) as display:

            def done(row: Row) -> None:
                if earlier:
                    earlier.complete(row)
                append_row(plan.out, row if shard == "1/1" else row | {"shard": shard})
                display.done(line_of(row))

            limits, logs = _limits(plan), str(plan.out / "logs")
            threads = max((os.cpu_count() or 1) // limits.workers, 1)
            settings = Settings(plan.device, plan.variants, plan.protocols, plan.seconds, {}, threads, logs)
            return Runner(settings, limits, done, display.note).run(tasks)
    except KeyboardInterrupt:
        return -1
    finally:
        _add_seconds(plan.out, time.monotonic() - began)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


class _Display:
    """A bar on a terminal; in a log a line for each step, with the seconds since the beginning."""

    def __init__(self, total: int) -> None:
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        self._console = Console(stderr=True)
        self._progress = Progress(*columns, console=self._console, transient=True)
        self._bar = self._progress.add_task("starting", total=total)
        self._began = time.monotonic()

    def __enter__(self) -> _Display:
        if self._console.is_terminal:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def note(self, text: str) -> None:
        self._progress.update(self._bar, description=text)
        if not self._console.is_terminal:
            self._print(f"{time.monotonic() - self._began:6.0f} s  {text}")

    def done(self, text: str) -> None:
        self._progress.advance(self._bar)
        self._print(text)

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def _open_folder(plan: Plan, kind: Kind, tasks: list[Task], names: list[str], shard: str, baselines: str) -> list[Task]:
    """Writes the header, or compares it, and gives back what has no row yet."""
    options = {"variants": list(plan.variants), "protocols": list(plan.protocols), "seconds": plan.seconds}
    header = make_header(kind, plan.device, _command(), options, names)
    if baselines:
        header["baselines"] = baselines
    if not (plan.out / HEADER).is_file():
        try:
            plan.out.mkdir(parents=True, exist_ok=True)
            _write_header(plan.out, header)
        except OSError as error:
            raise UserError(
                f"Cannot write to {plan.out} ({error.strerror}); name another folder with --out."
            ) from error
        return tasks
    if not plan.resume:
        raise UserError(f"{plan.out} holds a run already; go on with it by --resume, or name another folder.")
    before = read_header(plan.out)
    for field in ("device", "commit", "baselines"):
        if before.get(field) != header.get(field):
            raise UserError(
                f"The run in {plan.out} was made with {field} {before.get(field)!r}, this is {header.get(field)!r}: "
                "figures of both do not belong in one table; name another folder."
            )
    _write_header(plan.out, before | {"problems": list(dict.fromkeys(before["problems"] + names))})
    return not_done(tasks, read_rows(plan.out), shard)


def _command() -> str:
    """As it was typed, without folders: a run that is published says nothing of the machine's disk."""
    words = (pathlib.PurePath(word).name if word.startswith(("/", "~", "..")) else word for word in sys.argv[1:])
    return shlex.join(["cudaagent", *words])


def _write_header(folder: pathlib.Path, header: Header) -> None:
    (folder / HEADER).write_text(json.dumps(header, indent=1) + "\n")


def _add_seconds(folder: pathlib.Path, seconds: float) -> None:
    header = read_header(folder)
    header["device_seconds"] = round(header.get("device_seconds", 0.0) + seconds, 1)
    _write_header(folder, header)


def _limits(plan: Plan) -> Limits:
    if plan.device == "cpu":
        workers, memory = max(plan.workers, 1), Limits.memory
    else:
        workers = plan.workers or max((os.cpu_count() or 2) // 2, 1)
        memory = int(_memory_of_device() * _MEMORY_SHARE)
    batch = _BATCH * workers if workers > 1 else 1
    host = int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * _MEMORY_SHARE)
    return Limits(plan.variant_limit, plan.stage_limit, memory, host, workers, batch, plan.stop_after)


def _memory_of_device() -> int:
    """Asked of the driver's tool: a context of this process's own would hold memory for as long as the run lasts."""
    command = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(f"nvidia-smi does not say how much memory the GPU has ({done.stderr.strip()}).")
    return int(done.stdout.split("\n")[0]) << 20


def line_of(row: Row) -> str:
    """A row as the terminal shows it when its problem has ended."""
    parts = [f"{row['problem'][:48]:48s} {row['mode']:5s}"]
    if row["status"] != "ok":
        parts.append(f"{row['status']}: {row['reason'][:100]}")
    parts += [f"{name} {found['wall_ms']:.3f}" for name, found in row.get("times", {}).items() if "wall_ms" in found]
    for protocol, judgement in row.get("judged", {}).items():
        word = f"{judgement.get('speedup', 0.0):.2f}x" if judgement["passed"] else f"refused: {judgement['why'][:70]}"
        parts.append(f"{protocol} {word}")
    return "  ".join(parts)
