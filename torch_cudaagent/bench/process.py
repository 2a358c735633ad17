"""A worker's process from its first line to its last."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pathlib
import signal
import threading
import traceback
from multiprocessing.connection import Connection

from .tasks import Task
from .worker import Settings, Worker, reason, status_of


def _end_with_parent() -> None:
    """A parent that is gone, however it went, takes this process and all it started along, GPU memory included."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch(sentinel: int) -> None:
        multiprocessing.connection.wait([sentinel])
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, args=(parent.sentinel,), daemon=True).start()


def main(task: Task, settings: Settings, folder: str, excluded: dict[str, str], pipe: Connection) -> None:
    """The process's whole life. What it prints goes to a log beside its kernel cache."""
    os.setsid()  # so that the parent can end compilers' and judges' processes with it
    _end_with_parent()
    place = pathlib.Path(folder)
    log = os.open(place / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        Worker(task, settings, str(place / "cache"), excluded, pipe).serve()
    except Exception as error:
        traceback.print_exc()
        pipe.send(("failed", status_of(error), reason(error)))
