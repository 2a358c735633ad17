"""Overhead of a call: networks of 6, 160 and 600 parameters whose arithmetic takes no time, ours beside torch.compile.

    python -m benchmarks.per_call

Microseconds a call, medians of interleaved runs in one process. `guards` is Dynamo's own part: the same network
compiled by a backend that returns its input.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence

import torch
from torch import Tensor, nn

import torch_cudaagent as cudaagent
from torch_cudaagent.bench.timing import Run, time_cpu


class Scales(nn.Module):
    """`count` parameters of eight elements each, multiplied into the input one after another."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.scales = nn.ParameterList(nn.Parameter(torch.ones(8)) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        for scale in self.scales:
            x = x * scale
        return x


def measure(count: int, device: str, seconds: float) -> dict[str, float]:
    torch.compiler.reset()
    net, x = Scales(count).to(device), torch.ones(8, device=device)
    guards = torch.compile(net, backend=lambda graph, _: lambda *inputs: (inputs[0],), dynamic=False)
    compiled = torch.compile(net, dynamic=False)
    ours = cudaagent.optimize(Scales(count).to(device), measure=False)
    runs: dict[str, Run] = {
        "guards": lambda: guards(x),
        "compile": lambda: compiled(x),
        "ours": lambda: ours(x),
        "eager": lambda: net(x),
    }
    with torch.no_grad():
        for run in runs.values():
            for _ in range(3):
                run()
        samples = time_cpu(runs, seconds, least=200)
    return {name: statistics.median(values) * 1e3 for name, values in samples.items()}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--seconds", type=float, default=2.0, help="time for each size (default 2)")
    args = parser.parse_args(argv)
    for count in (6, 160, 600):
        row = measure(count, args.device, args.seconds)
        figures = "  ".join(f"{name} {value:7.1f}" for name, value in row.items())
        print(
            f"{count:4d} parameters, us a call: {figures}   ours / compile {row['ours'] / row['compile']:.2f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
