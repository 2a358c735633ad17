"""Runs the acceptance models through optimize() on a device and prints error, coverage and time beside eager.

python -m benchmarks.check_models --device cuda --dtype bfloat16
"""

from __future__ import annotations

import argparse
import collections
import copy
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

import torch_cudaagent as cudaagent
from benchmarks.models import MODELS, Model


def tensors(output: Any) -> list[torch.Tensor]:
    """Every tensor of a model's output."""
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, dict):
        output = tuple(output.values())
    return [t for item in output for t in tensors(item)] if isinstance(output, tuple | list) else []


def relative_rms(got: torch.Tensor, truth: torch.Tensor) -> float:
    return ((got.double() - truth).pow(2).mean().sqrt() / truth.pow(2).mean().sqrt().clamp_min(1e-300)).item()


def widened(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in args)


def median_ms(run: Callable[[], Any], device: str, repeats: int) -> float:
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        if device == "cuda":
            torch.cuda.synchronize()
        samples.append((time.perf_counter() - start) * 1e3)
    return statistics.median(samples)


def check(model: Model, device: str, dtype: torch.dtype, options: dict[str, Any], repeats: int) -> dict[str, Any]:
    net = model.make(device, dtype)
    args = model.inputs(device, dtype)
    plain = copy.deepcopy(net)
    with torch.no_grad():
        truth = tensors(copy.deepcopy(net).double()(*widened(args)))
        eager = tensors(plain(*args))
        start = time.perf_counter()
        optimized = cudaagent.optimize(net, **options)
        got = tensors(optimized(*args))
        seconds = time.perf_counter() - start
        ours_ms = median_ms(lambda: optimized(*args), device, repeats)
        eager_ms = median_ms(lambda: plain(*args), device, repeats)
    report = cudaagent.explain(optimized).to_dict()
    regions = [r for graph in report["graphs"] for program in graph["programs"] for r in program["regions"]]
    external: collections.Counter[str] = collections.Counter()
    for region in regions:
        if region["kind"] == "external":
            external.update(f"{op} ({region.get('why', '')})" for op in region["nodes"])
    return {
        "model": model.name,
        "error": max(relative_rms(a, t) for a, t in zip(got, truth, strict=True)),
        "eager_error": max(relative_rms(a, t) for a, t in zip(eager, truth, strict=True)),
        "generated": sum(r["kind"] == "generated" for r in regions),
        "external": dict(external),
        "left": [graph["why_eager"] for graph in report["graphs"] if graph["why_eager"]],
        "seconds": seconds,
        "ours_ms": ours_ms,
        "eager_ms": eager_ms,
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
    parser.add_argument("--only", help="models whose name contains this")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--unproved", action="store_true", help="neither prove kernels nor drop slow ones")
    args = parser.parse_args(argv)
    options = {"verify": False, "measure": False} if args.unproved else {}
    for model in MODELS:
        if args.only and args.only not in model.name:
            continue
        row = check(model, args.device, getattr(torch, args.dtype), options, args.repeats)
        print(
            f"{row['model']:20s} error {row['error']:.1e} (eager {row['eager_error']:.1e})"
            f"  {row['generated']:3d} kernels"
            f"  first call {row['seconds']:6.1f} s  ours {row['ours_ms']:8.2f}  eager {row['eager_ms']:8.2f} ms"
            f"  x {row['eager_ms'] / row['ours_ms']:.2f}\n    {row['external']} {row['left']}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
