"""Times the twenty regions: eager, torch.compile and cudaagent side by side in one process.

    python -m benchmarks.measure_regions --device cpu --out regions.json

Runs are interleaved (A B C A B C ...), medians are reported, on CUDA with the L2 cache flushed before each run.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

import torch_cudaagent as cudaagent
from benchmarks.regions import REGIONS, Region
from torch_cudaagent.bench.outputs import worst_relative_rms
from torch_cudaagent.bench.timing import Run, time_cpu, time_cuda

COPY_TB_PER_S = 4.27  # measured copy speed of an H200, read plus written


def bytes_moved(inputs: Sequence[Tensor], outputs: Any) -> int:
    """Every input read once and every output written once."""
    tensors = [*inputs, *(outputs if isinstance(outputs, tuple) else (outputs,))]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def kernel_summary(optimized: Any) -> dict[str, Any]:
    regions = cudaagent.explain(optimized).regions()
    return {
        "generated": [
            f"{r['template']}:{json.dumps(r['candidate']['params'])}" for r in regions if r["kind"] == "generated"
        ],
        "attempts": [region.get("attempts", []) for region in regions if region["kind"] == "generated"],
        "verdicts": [region.get("verdict", {}) for region in regions if region["kind"] == "generated"],
        "extern": [f"{r['nodes']} {r.get('why', '')}" for r in regions if r["kind"] == "external"],
    }


def measure(
    region: Region, device: str, repeats: int, budget_s: float, baselines: bool, options: dict[str, Any]
) -> dict[str, Any]:
    inputs = region.inputs(device)
    with torch.no_grad():
        torch.compiler.reset()
        runs: dict[str, Run] = {"eager": lambda: region.function(*inputs)}
        if baselines:
            compiled = torch.compile(region.function, dynamic=False)
            runs["compile"] = lambda: compiled(*inputs)
        # A function of its own, so that wrapping it leaves the baseline's alone.
        optimized = cudaagent.optimize(lambda *args: region.function(*args), **options)
        runs["ours"] = lambda: optimized(*inputs)
        for run in runs.values():
            run()
            run()
        samples = time_cpu(runs, budget_s) if device == "cpu" else time_cuda(runs, repeats)
        row: dict[str, Any] = {"region": region.name, "bytes": bytes_moved(inputs, region.function(*inputs))}
        row["difference"] = worst_relative_rms(optimized(*inputs), region.function(*inputs))
    for name, values in samples.items():
        row[f"{name}_ms"] = statistics.median(values)
        row[f"{name}_spread"] = (min(values), max(values))
    row["gb_per_s"] = row["bytes"] / row["ours_ms"] / 1e6
    row["of_copy"] = row["gb_per_s"] / (COPY_TB_PER_S * 1e3)
    row["over_eager"] = row["eager_ms"] / row["ours_ms"]
    if baselines:
        row["over_compile"] = row["compile_ms"] / row["ours_ms"]
    row.update(kernel_summary(optimized))
    return row


def print_row(row: dict[str, Any]) -> None:
    ratio = f"{row['over_compile']:6.2f}" if "over_compile" in row else "     -"
    print(
        f"{row['region']:32s} eager {row['eager_ms']:8.3f}"
        f"  compile {row.get('compile_ms', math.nan):8.3f}  ours {row['ours_ms']:8.3f} ms"
        f"  diff {row['difference']:.1e}  {row['gb_per_s']:7.0f} GB/s  {row['of_copy']:5.2f} of copy  {ratio} x compile"
        f"  {'EXTERN ' + str(row['extern']) if row['extern'] else ' '.join(row['generated'])}",
        flush=True,
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--only", help="regions whose name contains this")
    parser.add_argument("--repeats", type=int, default=30, help="samples on CUDA (default 30)")
    parser.add_argument("--seconds", type=float, default=2.0, help="time a region on the CPU (default 2)")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--unproved", action="store_true", help="neither prove kernels nor drop slow ones")
    parser.add_argument("--search", type=int, default=0, help="candidates to try for each kernel")
    parser.add_argument("--out", help="append each row as a JSON line to this file")
    args = parser.parse_args(argv)
    if args.device == "cpu":
        torch.set_num_threads(2)
    # With --unproved every kernel runs, so that a slow one shows; figures for the docs are made without it.
    options: dict[str, Any] = {"search": args.search}
    if args.unproved:
        options |= {"verify": False, "measure": args.search > 0}
    rows = []
    for region in REGIONS:
        if args.only and args.only not in region.name:
            continue
        row = measure(region, args.device, args.repeats, args.seconds, not args.no_compile, options)
        print_row(row)
        rows.append(row)
        if args.out:
            with open(args.out, "a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")
    ratios = [row["over_compile"] for row in rows if "over_compile" in row]
    if ratios:
        print(f"geomean over torch.compile {statistics.geometric_mean(ratios):.3f}, worst {min(ratios):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
