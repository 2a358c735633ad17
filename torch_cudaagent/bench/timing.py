"""Interleaved timing: every variant runs in turn (A B C A B C ...), so that drift of the machine meets all alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

Run = Callable[[], Any]


def time_cpu(runs: dict[str, Run], budget_s: float, least: int = 5) -> dict[str, list[float]]:
    """Wall-clock samples in milliseconds until `budget_s` is spent, `least` rounds at the least.

    With a GPU in use the work queued before a sample is waited for, and so is the sample's own.
    """
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    samples: dict[str, list[float]] = {name: [] for name in runs}
    deadline = time.perf_counter() + budget_s
    rounds = 0
    while time.perf_counter() < deadline or rounds < least:
        for name, run in runs.items():
            wait()
            start = time.perf_counter()
            run()
            wait()
            samples[name].append((time.perf_counter() - start) * 1e3)
        rounds += 1
    return samples


def time_cuda(runs: dict[str, Run], repeats: int) -> dict[str, list[float]]:
    """Event times in milliseconds, the L2 cache flushed before each."""
    flush = torch.empty(512 * 2**20, dtype=torch.int8, device="cuda")
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            flush.zero_()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run()
            end.record()
            end.synchronize()
            samples[name].append(start.elapsed_time(end))
    return samples
