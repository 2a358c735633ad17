"""Optimizes a real network and shows what became of it: each region, its kernel, its error, and the times.

python examples/demo.py [resnet18 | mobilenet_v3_small | vit_b_16 | bert | gpt2 | ...]
"""

from __future__ import annotations

import pathlib
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import torch_cudaagent as cudaagent
from benchmarks.models import MODELS
from torch_cudaagent.cli import show


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def time_pair(before: Callable[[], object], after: Callable[[], object], device: str) -> tuple[float, float]:
    """Median milliseconds of both, run in turns so that the machine's moods fall on both alike."""
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + 8
    while time.perf_counter() < end or len(times[0]) < 5:
        for run, kept in zip((before, after), times, strict=True):
            start = time.perf_counter()
            run()
            wait(device)
            kept.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[0]), statistics.median(times[1])


def largest_error(model: nn.Module, optimized: nn.Module, inputs: tuple) -> tuple[float, float]:
    """Relative RMS error of eager and of the optimized model against the model in double precision."""
    first = lambda output: output if isinstance(output, torch.Tensor) else next(iter(dict(output).values()))  # noqa: E731
    results = [first(run(*inputs)).double() for run in (model, optimized)]
    model.double()
    truth = first(model(*(x.double() if x.is_floating_point() else x for x in inputs)))
    model.float()
    eager, ours = ((r - truth).norm().item() / truth.norm().item() for r in results)
    return eager, ours


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "mobilenet_v3_small"
    known = {model.name: model for model in MODELS}
    if name not in known:
        sys.exit(f"No model {name}; there are {', '.join(known)}.")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, inputs = known[name].make(device), known[name].inputs(device, torch.float32)
    optimized = cudaagent.optimize(model)
    with torch.no_grad():
        start = time.perf_counter()
        optimized(*inputs)
        first_call = time.perf_counter() - start
        show.regions(cudaagent.explain(optimized).to_dict())
        before, after = time_pair(lambda: model(*inputs), lambda: optimized(*inputs), device)
        eager, ours = largest_error(model, optimized, inputs)
    print(f"{name} on {device}: captured, generated, proved and run in {first_call:.1f} s")
    print(f"a call: {before:.2f} ms before, {after:.2f} ms after ({before / after:.2f}x)")
    print(f"relative error against double precision: eager {eager:.1e}, optimized {ours:.1e}")


if __name__ == "__main__":
    main()
