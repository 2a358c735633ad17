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
from collections.abc import Sequence
from typing import Any

import torch

import torch_cudaagent as cudaagent
from benchmarks.models import MODELS, Model
from torch_cudaagent.bench.outputs import widened, worst_relative_rms
from torch_cudaagent.bench.timing import time_cpu


def check(model: Model, device: str, dtype: torch.dtype, options: dict[str, Any], budget_s: float) -> dict[str, Any]:
    net = model.make(device, dtype)
    args = model.inputs(device, dtype)
    plain = copy.deepcopy(net)
    with torch.no_grad():
        truth = copy.deepcopy(net).double()(*widened(args))
        eager = plain(*args)
        start = time.perf_counter()
        optimized = cudaagent.optimize(net, **options)
        got = optimized(*args)
        seconds = time.perf_counter() - start
        samples = time_cpu({"ours": lambda: optimized(*args), "eager": lambda: plain(*args)}, budget_s)
    explanation = cudaagent.explain(optimized)
    regions = explanation.regions()
    external: collections.Counter[str] = collections.Counter()
    for region in regions:
        if region["kind"] == "external":
            external.update(f"{op} ({region.get('why', '')})" for op in region["nodes"])
    return {
        "model": model.name,
        "error": worst_relative_rms(got, truth),
        "eager_error": worst_relative_rms(eager, truth),
        "generated": sum(r["kind"] == "generated" for r in regions),
        "external": dict(external),
        "left": [graph["why_eager"] for graph in explanation.to_dict()["graphs"] if graph["why_eager"]],
        "seconds": seconds,
        "ours_ms": statistics.median(samples["ours"]),
        "eager_ms": statistics.median(samples["eager"]),
    }


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
    parser.add_argument("--only", help="models whose name contains this")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each model (default 3)")
    parser.add_argument("--unproved", action="store_true", help="neither prove kernels nor drop slow ones")
    args = parser.parse_args(argv)
    options = {"verify": False, "measure": False} if args.unproved else {}
    for model in MODELS:
        if args.only and args.only not in model.name:
            continue
        row = check(model, args.device, getattr(torch, args.dtype), options, args.seconds)
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
