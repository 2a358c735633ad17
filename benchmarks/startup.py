"""Time from optimize() to the first result in a new process, cold and warm, beside torch.compile and Dynamo alone.

    python -m benchmarks.startup --model resnet18 --rounds 5

Each figure is the median over rounds of fresh processes, one at a time, in turn. Cold: both caches are empty folders.
Warm: both were filled by a process before. `dynamo` compiles with a backend that runs the captured graph as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.models import BY_NAME

WAYS = ("dynamo", "compile", "ours")


def child(way: str, model: str, device: str) -> None:
    """Prints the seconds from the call that compiles to the first result."""
    import torch

    import torch_cudaagent as cudaagent

    net = BY_NAME[model].make(device)
    args = BY_NAME[model].inputs(device, torch.float32)
    with torch.no_grad():
        net(*args)
        start = time.perf_counter()
        if way == "ours":
            cudaagent.optimize(net)(*args)
        elif way == "compile":
            torch.compile(net)(*args)
        else:
            torch.compile(net, backend=lambda graph, _: graph.forward)(*args)
        if device == "cuda":
            torch.cuda.synchronize()
        print(json.dumps(time.perf_counter() - start))


def seconds(way: str, model: str, device: str, caches: str) -> float:
    environment = os.environ | {
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(caches, "inductor"),
        "TORCH_CUDAAGENT_CACHE_DIR": os.path.join(caches, "cudaagent"),
    }
    command = [sys.executable, "-m", "benchmarks.startup", "--child", way, "--model", model, "--device", device]
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return float(json.loads(out.splitlines()[-1]))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet18", choices=sorted(BY_NAME))
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.child:
        child(args.child, args.model, args.device)
        return 0
    found: dict[str, list[float]] = {}
    for number in range(args.rounds):
        with tempfile.TemporaryDirectory() as caches:
            for temperature in ("cold", "warm"):
                for way in WAYS:
                    key = f"{temperature} {way}"
                    found.setdefault(key, []).append(seconds(way, args.model, args.device, caches))
        print(f"round {number + 1}: " + "  ".join(f"{k} {v[-1]:.2f}" for k, v in found.items()), flush=True)
    median = {key: statistics.median(values) for key, values in found.items()}
    print(f"medians: {median}")
    beyond = {way: median[f"warm {way}"] - median["warm dynamo"] for way in ("compile", "ours")}
    print(f"warm beyond Dynamo: compile {beyond['compile']:.2f} s, ours {beyond['ours']:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
