"""What the parent knows of one worker's process: its state, its time limits, what it has said so far."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pathlib
import shutil
import signal
import tempfile
import time
from typing import Any

from . import process
from .row import Row
from .tasks import Task
from .worker import Settings

# A server process that has imported torch and touched no device is forked for each problem, which saves seconds.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["torch_cudaagent.bench.preload"])


class Child:
    """A problem's process. `excluded` names variants that an earlier process of the problem was lost to."""

    def __init__(self, task: Task, excluded: dict[str, str], settings: Settings) -> None:
        self.task, self.excluded = task, excluded
        self.folder = tempfile.mkdtemp(prefix="cudaagent-bench-")
        self.row: Row = {}
        self.state, self.variant = "sizing", ""
        self.size = self.held = 0  # bytes: of inputs, weights and outputs; of device memory held now
        self.begun = self.since = time.monotonic()
        self.pipe, theirs = _context.Pipe()
        self.process = _context.Process(target=process.main, args=(task, settings, self.folder, excluded, theirs))
        self.process.start()
        theirs.close()

    @property
    def estimate(self) -> int:
        """Bytes of device memory that its next step may take: variants in turn, each with intermediates."""
        return max(6 * self.size, 1 << 30)

    @property
    def host_estimate(self) -> int:
        """Bytes of host memory that its next step may take: proofs go through it, a float in double and a few more."""
        return 8 * self.size + (4 << 30)

    def order(self, command: str, state: str) -> None:
        self.state, self.variant, self.since = state, "", time.monotonic()
        with contextlib.suppress(OSError):  # it died: met when its pipe is read
            self.pipe.send(command)

    def event(self) -> tuple[str, Any, Any] | None:
        """The next word, or None when the process is gone."""
        try:
            kind, value, extra = self.pipe.recv()
        except (EOFError, OSError):
            return None
        if kind == "variant":
            self.variant, self.since = value, time.monotonic()
        return kind, value, extra

    def last_words(self) -> str:
        """The end of its log, in one line."""
        log = pathlib.Path(self.folder) / "log.txt"
        lines = log.read_text(errors="replace").strip().splitlines() if log.is_file() else []
        return lines[-1][:300] if lines else ""

    def keep_log(self, folder: pathlib.Path) -> None:
        """What it printed, for whoever wants to know why its problem has no figures."""
        log = pathlib.Path(self.folder) / "log.txt"
        if log.is_file() and log.stat().st_size:
            folder.mkdir(exist_ok=True)
            shutil.copyfile(log, folder / f"{self.task.name.replace('/', '_')}.{self.task.mode}.txt")

    def how_it_ended(self) -> str:
        self.process.join(5)
        code = self.process.exitcode
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                return f"the process was ended by {signal.Signals(-code).name}"
        return f"the process ended with exit code {code}"

    def leave(self) -> None:
        """Lets it end by itself."""
        self.state, self.variant, self.since = "leaving", "", time.monotonic()
        self.pipe.close()

    def end(self) -> None:
        """Kills it with everything it started, and removes its folder."""
        self.pipe.close()
        pid = self.process.pid
        if pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        if self.process.is_alive():
            self.process.kill()
        self.process.join(10)
        shutil.rmtree(self.folder, ignore_errors=True)
