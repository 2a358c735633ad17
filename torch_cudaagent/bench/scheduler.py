"""Which process may do what: many problems side by side until they are prepared, then each timed alone."""

from __future__ import annotations

import dataclasses

from .child import Child


@dataclasses.dataclass(frozen=True)
class Limits:
    """Seconds and bytes."""

    variant_s: float = 150.0  # to compile or optimize one variant and call it once
    stage_s: float = 240.0  # for counting, for timing and for judging
    memory: int = 1 << 62  # of the device, for all processes
    host_memory: int = 1 << 62  # for all processes
    workers: int = 1  # at work side by side
    batch: int = 1  # problems prepared before they are timed
    stop_after_s: float = float("inf")  # start no problem later than that


# States at work; in the others a process waits for an order. One that is leaving has given its last answer.
BUSY = ("sizing", "preparing", "timing", "judging", "leaving")


class Scheduler:
    """Gives orders to children; while one is timed, no other is at work."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._timing = False

    def orders(self, children: list[Child]) -> list[tuple[Child, str, str]]:
        """(child, command, its new state); nothing while all that can be done is being done."""
        if self._timing:
            return self._next_timing(children)
        busy = [child for child in children if child.state in BUSY]
        given: list[tuple[Child, str, str]] = []
        for child in children:
            step = {"timed": ("judge", "judging"), "sized": ("prepare", "preparing")}.get(child.state)
            at_work = len(busy) + len(given)
            if step and at_work < self._limits.workers and self._has_room(child, children, [c for c, _, _ in given]):
                given.append((child, *step))
        return given

    def room_for_new(self, children: list[Child]) -> bool:
        """Whether another problem may begin."""
        starting = [child for child in children if child.state in ("sizing", "sized", "preparing")]
        before_timing = len(starting) + sum(child.state == "prepared" for child in children)
        return not self._timing and len(starting) < self._limits.workers and before_timing < self._limits.batch

    def settle(self, children: list[Child]) -> None:
        """Called when nothing is at work and no order was given: goes from preparing to timing and back."""
        self._timing = any(child.state == "prepared" for child in children)

    def _next_timing(self, children: list[Child]) -> list[tuple[Child, str, str]]:
        if any(child.state in BUSY for child in children):
            return []
        return [(child, "time", "timing") for child in children if child.state == "prepared"][:1]

    def _has_room(self, child: Child, children: list[Child], chosen: list[Child]) -> bool:
        """Beside what is held, what is at work may take, and what the timing of any prepared problem will."""
        working = [c for c in children if c.state in BUSY and c.state != "sizing"] + chosen
        prepared = [c for c in children if c.state == "prepared"]
        if not working and not prepared:
            return True
        if sum(c.host_estimate for c in working) + child.host_estimate > self._limits.host_memory:
            return False
        needed = sum(c.held for c in children) + sum(c.estimate for c in working)
        return needed + child.estimate + max((c.estimate for c in prepared), default=0) <= self._limits.memory
