"""Times of a problem's variants, side by side: interleaved, the L2 cache flushed, inputs in turn."""

from __future__ import annotations

import gc
import statistics
import time
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, record_function

from .row import Time
from .variants import Run, flags_of

Args = tuple[Any, ...]
FLUSHED_BYTES = 256 * 2**20  # several times the L2 of any card
_LEAST_ROUNDS, _MOST_ROUNDS = 7, 60
_MARK = "cudaagent.bench/"


class Device:
    """What timing needs of a device, "cpu" or "cuda"."""

    def __init__(self, name: str) -> None:
        self.cuda = name == "cuda"
        self._flushed = torch.empty(FLUSHED_BYTES, dtype=torch.int8, device="cuda") if self.cuda else None

    def wait(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def flush(self) -> None:
        """Pushes everything out of L2, and waits. On the CPU caches are left as they are."""
        if self._flushed is not None:
            self._flushed.zero_()
        self.wait()


def time_variants(runs: dict[str, Run], inputs: list[Args], seconds: float, device: Device) -> dict[str, Time]:
    """Rounds of all variants, forwards and backwards in turn, for about `seconds`."""
    walls: dict[str, list[float]] = {name: [] for name in runs}
    launches: dict[str, list[float]] = {name: [] for name in runs}
    names = list(runs)
    deadline, rounds = time.perf_counter() + seconds, 0
    gc.collect()
    gc.disable()
    try:
        while rounds < _LEAST_ROUNDS or (rounds < _MOST_ROUNDS and time.perf_counter() < deadline):
            args = inputs[rounds % len(inputs)]
            for name in names if rounds % 2 else reversed(names):
                wall, launch = _sample(runs[name], args, device, name)
                walls[name].append(wall)
                launches[name].append(launch)
            rounds += 1
    finally:
        gc.enable()
    times = {name: _summary(walls[name], launches[name], device.cuda) for name in names}
    if device.cuda:
        for name, kernels_ms in kernel_times(runs, inputs, device).items():
            times[name]["kernels_ms"] = kernels_ms
        for name in names:
            times[name]["peak_bytes"] = _peak(runs[name], inputs[0], name)
    return times


def _sample(run: Run, args: Args, device: Device, name: str) -> tuple[float, float]:
    """Milliseconds until the device is done, and until the call returned."""
    with flags_of(name):
        device.flush()
        start = time.perf_counter()
        run(*args)
        returned = time.perf_counter()
        device.wait()
        done = time.perf_counter()
    return (done - start) * 1e3, (returned - start) * 1e3


def _summary(walls: list[float], launches: list[float], cuda: bool) -> Time:
    low, middle, high = statistics.quantiles(walls, n=4)
    found: Time = {"wall_ms": middle, "low_ms": low, "high_ms": high, "samples": [round(x, 5) for x in walls]}
    if cuda:
        found["overhead_us"] = statistics.median(launches) * 1e3
    return found


def kernel_times(runs: dict[str, Run], inputs: list[Args], device: Device) -> dict[str, float]:
    """Summed milliseconds of the device's work in one call of each variant, the median of three calls.

    The device is idle before and after each call, so what it does between a call's marks is that call's.
    """
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as traced:
        for k in range(3):
            for name, run in runs.items():
                with flags_of(name):
                    device.flush()
                    with record_function(_MARK + name):
                        run(*inputs[k % len(inputs)])
                        device.wait()
    events = traced.events()
    work = sorted(
        (event.time_range.start, event.time_range.elapsed_us())
        for event in events
        if event.device_type == DeviceType.CUDA and not event.is_user_annotation and _MARK not in event.name
    )
    sums: dict[str, list[float]] = {}
    for event in events:
        if event.device_type == DeviceType.CPU and event.name.startswith(_MARK):
            begin, end = event.time_range.start, event.time_range.end
            sums.setdefault(event.name.removeprefix(_MARK), []).append(sum(us for at, us in work if begin <= at < end))
    return {name: statistics.median(found) / 1e3 for name, found in sums.items()}


def _peak(run: Run, args: Args, name: str) -> int:
    """Most memory held during a call beyond what was held before it."""
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    with flags_of(name):
        run(*args)
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def warm_up(run: Run, inputs: list[Args], name: str, device: Device) -> None:
    """Three calls: CUDA graphs are recorded in the second or third."""
    with flags_of(name):
        for k in range(3):
            run(*inputs[k % len(inputs)])
        device.wait()
