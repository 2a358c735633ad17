"""Times every candidate of the kernels of an expression against the analytic model's choice.

    python -m benchmarks.tune "F.cross_entropy(x, t, reduction='none')" --x 8192,50257 --t 8192 --classes 50257

Nothing is proved: it is for finding what to prove.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

import torch_cudaagent as cudaagent


def shape(text: str) -> tuple[int, ...]:
    return tuple(int(extent) for extent in text.split(","))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("expression", help="of x, y (tensors), t (class indices), torch and F")
    parser.add_argument("--x", type=shape, required=True, help="extents, as 4096,1024")
    parser.add_argument("--y", type=shape, help="extents of a second tensor")
    parser.add_argument("--t", type=shape, help="extents of the class indices")
    parser.add_argument("--classes", type=int, default=2, help="class indices are below this")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--candidates", type=int, default=48)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args(argv)
    dtype = getattr(torch, args.dtype)
    given = {name: extents for name in "xy" if (extents := getattr(args, name))}
    tensors = {name: torch.randn(extents, device=args.device).to(dtype) for name, extents in given.items()}
    if args.t:
        tensors["t"] = torch.randint(0, args.classes, args.t, device=args.device)
    # A real function: Dynamo does not look into eval.
    scope: dict[str, Any] = {"torch": torch, "F": F}
    exec(f"def run({', '.join(tensors)}):\n    return {args.expression}", scope)
    optimized = cudaagent.optimize(scope["run"], verify=False, search=args.candidates)
    with torch.no_grad():
        optimized(*tensors.values())
    for region in cudaagent.explain(optimized).regions():
        print(region["kind"], region["nodes"], region.get("candidate"))
        for attempt in sorted(region.get("attempts", []), key=lambda a: a.get("us") or 1e9):
            candidate = attempt["candidate"]
            params = " ".join(f"{key} {value}" for key, value in candidate["params"].items())
            print(
                f"  {attempt.get('us', 0):9.1f} us (incumbent {attempt.get('incumbent_us', 0):9.1f})"
                f"  {candidate['template']:14s} {params} {attempt.get('rejection', '')}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
