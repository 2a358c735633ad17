"""One problem in a process of its own: it prepares, times and judges when told, and answers through a pipe.

The parent (runner.py) sends "prepare", "time" or "judge" and reads events: ("sized", bytes), ("variant", name) before
each variant is prepared, then ("prepared" | "timed" | "judged", part of the row, bytes of device memory held), or
("failed", status, reason). A process that dies or is killed cost one problem, or one variant of it.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import pathlib
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch._inductor.config
from torch import nn

from . import floor, measure, protocols
from .problems import DoesNotScale
from .regions import regions
from .row import Floor, Row
from .tasks import Subject, Task, subject_of
from .variants import Run, build, flags_of, share_state

_INPUT_SETS = 2


@dataclasses.dataclass(frozen=True)
class Settings:
    """Of a whole run."""

    device: str
    variants: tuple[str, ...]
    protocols: tuple[str, ...]
    seconds: float = 3.0  # of timing for each problem
    options: dict[str, Any] = dataclasses.field(default_factory=dict)  # of cudaagent.optimize
    compile_threads: int = 1  # processes that Inductor may compile in, for each worker
    logs: str = ""  # folder for what workers printed whose problem failed


def reason(error: BaseException) -> str:
    """An exception in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def status_of(error: BaseException) -> str:
    out_of_memory = isinstance(error, torch.OutOfMemoryError | MemoryError) or "DefaultCPUAllocator" in str(error)
    return "out_of_memory" if out_of_memory else "failed"


class Worker:
    """What one process holds between the parent's commands."""

    def __init__(
        self, task: Task, settings: Settings, cache_dir: str, excluded: dict[str, str], pipe: Connection
    ) -> None:
        self._task, self._settings, self._cache_dir, self._pipe = task, settings, cache_dir, pipe
        self._excluded = dict(excluded)
        self._seconds = dict.fromkeys(settings.variants, 0.0)
        self._runs: dict[str, Run] = {}
        self._floor: Floor = {}
        torch._dynamo.config.recompile_limit = 64
        torch._inductor.config.compile_threads = settings.compile_threads

    def serve(self) -> None:
        """Sizes, then one answer a command, until the parent closes the pipe."""
        self._pipe.send(("sized", self._size(), {}))
        steps = {"prepare": self._prepare, "time": self._time, "judge": self._judge}
        while True:
            try:
                command = self._pipe.recv()
            except EOFError:
                return
            part = steps[command]()
            self._pipe.send((command, part, self._held()))

    def _size(self) -> int:
        """Bytes of inputs, weights and outputs, counted without making them."""
        try:
            subject = subject_of(self._task, "meta")
            self._floor = floor.count(subject.make(), subject.inputs(0))
        except Exception:  # a problem that cannot run without data is met on the device
            self._floor = {}
        return self._floor.get("bytes", 0)

    @functools.cached_property
    def _subject(self) -> Subject:
        return subject_of(self._task, self._settings.device)

    @functools.cached_property
    def _device(self) -> measure.Device:
        return measure.Device(self._settings.device)

    def _held(self) -> int:
        gc.collect()
        if self._settings.device != "cuda":
            return 0
        torch.cuda.empty_cache()
        return torch.cuda.memory_reserved()

    def _prepare(self) -> Row:
        """Every variant built and called once, so that what they compile is in their caches."""
        args = self._eager_runs()
        base = self._runs["eager"]
        assert isinstance(base, nn.Module)
        for variant in self._settings.variants:
            if variant != "eager" and variant not in self._excluded:
                self._pipe.send(("variant", variant, 0))
                self._attempt(variant, lambda v=variant: self._build(v, base, args, measured=False))  # type: ignore[misc]
        return {"tried": [v for v in self._settings.variants if v in self._runs], "not_run": dict(self._excluded)}

    def _eager_runs(self) -> tuple[Any, ...]:
        """Eager built and called: without it there is no problem."""
        try:
            base = self._subject.make()
            args = self._subject.inputs(0)
            with torch.no_grad():
                base(*args)
        except Exception as error:
            if self._task.cap is None or status_of(error) == "out_of_memory":
                raise
            raise DoesNotScale(reason(error)) from error
        self._runs["eager"] = base
        return args

    def _attempt(self, variant: str, step: Callable[[], None]) -> None:
        start = time.perf_counter()
        try:
            step()
        except Exception as error:
            self._excluded[variant] = reason(error)
            self._runs.pop(variant, None)
        self._seconds[variant] = self._seconds.get(variant, 0.0) + time.perf_counter() - start

    def _build(self, variant: str, base: nn.Module, args: tuple[Any, ...], measured: bool) -> None:
        model = self._subject.make()
        if variant != "half":
            share_state(model, base)
        run = build(variant, model, self._cache_dir, measured, self._settings.options)
        with torch.no_grad(), flags_of(variant):
            run(*args)
            if self._settings.device == "cuda":
                torch.cuda.synchronize()
        self._runs[variant] = run

    def _time(self) -> Row:
        """Ours chooses by measuring, alone on the device, then all are timed side by side."""
        inputs = [self._subject.inputs(1000 + k) for k in range(_INPUT_SETS)]
        base = self._runs["eager"]
        assert isinstance(base, nn.Module)
        for variant in ("ours", "ours_frozen"):
            if variant in self._runs:
                self._attempt(variant, lambda v=variant: self._build(v, base, inputs[0], measured=True))  # type: ignore[misc]
        with torch.no_grad():
            for variant in list(self._runs):
                self._pipe.send(("variant", variant, 0))
                self._attempt(variant, lambda v=variant: measure.warm_up(self._runs[v], inputs, v, self._device))  # type: ignore[misc]
            self._pipe.send(("variant", "", 0))
            times = measure.time_variants(self._runs, inputs, self._settings.seconds, self._device)
        for name, found in times.items():
            found["prepare_s"] = round(self._seconds[name], 3)
        ours = times.get("ours", {}).get("wall_ms")
        row: Row = {"times": times, "tried": list(times), "not_run": dict(self._excluded)}
        row["floor"] = floor.timed(self._floor, _device_name(self._settings.device), ours)
        row["cache_bytes"] = sum(p.stat().st_size for p in pathlib.Path(self._cache_dir).rglob("*") if p.is_file())
        if "ours" in self._runs:
            row["regions"] = regions(self._runs["ours"])
        self._runs.clear()
        return row

    def _judge(self) -> Row:
        judged: dict[str, Any] = {}
        constant = False
        with torch.no_grad():
            try:
                constant = protocols.is_constant(self._subject, self._made)
            except Exception as error:
                print(f"whether the output is constant: {reason(error)}", flush=True)
            for protocol in self._settings.protocols:
                try:
                    found = protocols.JUDGES[protocol](self._subject, self._made)
                except Exception as error:
                    found = {"passed": False, "why": f"not judged: {reason(error)}", "error": {}}
                found["error"] = protocols.finite(found.get("error", {}))
                judged[protocol] = found
                self._held()
        return {"judged": judged, "constant_output": constant}

    def _made(self) -> protocols.Made:
        """A fresh eager model and ours beside it, its kernels from the cache that the timing filled."""
        eager, model = self._subject.make(), self._subject.make()
        if "ours" in self._excluded:
            raise RuntimeError(self._excluded["ours"])
        return eager, build("ours", model, self._cache_dir, True, self._settings.options)


def _device_name(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else "cpu"
