"""Many problems, a process each: prepared and judged side by side, timed strictly one at a time.

A process that hangs, crashes or runs out of memory costs its row or, when one variant did it, that variant: a new
process repeats the problem without it. Rows are handed over as each problem ends, so a run that is stopped has lost
only what was in progress.
"""

from __future__ import annotations

import collections
import pathlib
import time
from collections.abc import Callable, Iterable
from multiprocessing.connection import wait
from typing import Any

from .child import Child
from .row import Row, Status
from .scheduler import BUSY, Limits, Scheduler
from .score import score
from .tasks import Task
from .worker import Settings

_LEAVE_S = 10.0  # a process has to end by itself
_ESSENTIAL = ("", "eager")  # lost while one of these was at work, the problem is lost


class Runner:
    """`done` is given each row, `note` a line for the progress display."""

    def __init__(
        self, settings: Settings, limits: Limits, done: Callable[[Row], None], note: Callable[[str], None]
    ) -> None:
        self._settings, self._limits, self._done, self._note = settings, limits, done, note
        self._scheduler = Scheduler(limits)
        self._waiting: collections.deque[tuple[Task, dict[str, str]]] = collections.deque()
        self._children: list[Child] = []
        self._spent: collections.defaultdict[Task, float] = collections.defaultdict(float)
        self._began = time.monotonic()

    def run(self, tasks: Iterable[Task]) -> int:
        """How many problems were not begun before time ran out."""
        self._waiting.extend((task, {}) for task in tasks)
        try:
            while self._children or self._may_begin():
                self._move()
                self._listen()
                self._enforce_limits()
        finally:
            for child in self._children:
                child.end()
        return len(self._waiting)

    def _may_begin(self) -> bool:
        return bool(self._waiting) and time.monotonic() - self._began < self._limits.stop_after_s

    def _move(self) -> None:
        moved = False
        while self._may_begin() and self._scheduler.room_for_new(self._children):
            self._children.append(Child(*self._waiting.popleft(), self._settings))
            moved = True
        for child, command, state in self._scheduler.orders(self._children):
            self._note(f"{state} {child.task.name}")
            child.order(command, state)
            moved = True
        if not moved and not any(child.state in BUSY for child in self._children):
            self._scheduler.settle(self._children)

    def _listen(self) -> None:
        speakers = [child for child in self._children if child.state != "leaving"]
        if not any(child.state in BUSY for child in self._children):
            return
        sources: dict[Any, Child] = {child.pipe: child for child in speakers}
        sources |= {child.process.sentinel: child for child in self._children if child not in speakers}
        for source in wait(list(sources), timeout=0.5):
            child = sources[source]
            self._hear(child) if child in speakers else self._drop(child)

    def _hear(self, child: Child) -> None:
        event = child.event()
        if event is None:
            self._lost(child, "crashed", child.how_it_ended())
            return
        kind, value, extra = event
        if kind == "variant" and value and child.state == "preparing":
            self._note(f"{child.state} {child.task.name}: {value}")
        elif kind == "sized":
            child.state, child.size = "sized", value
        elif kind == "failed":
            self._finish(child, value, extra)
        elif kind in ("prepare", "time", "judge"):
            child.row |= value
            child.held = extra
            child.state = {"prepare": "prepared", "time": "timed"}.get(kind, "judged")
            if kind == "judge" or (kind == "time" and not self._settings.protocols):
                self._finish(child, "ok", "")

    def _enforce_limits(self) -> None:
        for child in list(self._children):
            limits = {"preparing": self._limits.variant_s, "leaving": _LEAVE_S}
            limit = limits.get(child.state, self._limits.stage_s)
            if child.state not in BUSY or time.monotonic() - child.since <= limit:
                continue
            if child.state == "leaving":
                self._drop(child)
            else:
                self._lost(child, "timeout", f"timed out after {limit:.0f} s")

    def _lost(self, child: Child, status: Status, why: str) -> None:
        """Its process hangs or is gone: once more without the variant that was at work, or a row that says so."""
        words = child.last_words()
        why = f"{why} ({words})" if words and status == "crashed" else why
        if child.state in ("preparing", "timing") and child.variant not in (*_ESSENTIAL, *child.excluded):
            self._drop(child)
            self._spent[child.task] += time.monotonic() - child.begun
            self._waiting.appendleft((child.task, child.excluded | {child.variant: why}))
            return
        self._finish(child, status, f"{why}, while {child.state}")

    def _drop(self, child: Child) -> None:
        child.end()
        self._children.remove(child)

    def _finish(self, child: Child, status: Status, reason: str) -> None:
        task = child.task
        self._spent[task] += time.monotonic() - child.begun
        row: Row = {"problem": task.name, "level": task.level, "mode": task.mode, "status": status, "reason": reason}
        row |= {"sentinel": task.sentinel, "seconds": round(self._spent[task], 2)}
        row |= child.row
        row["not_run"] = child.excluded | row.get("not_run", {})
        score(row)
        self._done(row)
        if status == "ok":
            child.leave()
        else:
            child.keep_log(pathlib.Path(self._settings.logs))
            self._drop(child)
