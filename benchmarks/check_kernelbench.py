"""KernelBench levels 1 and 2 through torch_cudaagent, in training mode (as KernelBench leaves it) and eval mode.

python -m benchmarks.check_kernelbench --path kb --capture               no GPU: every graph captured for one, planned
python -m benchmarks.check_kernelbench --path kb --out rows.jsonl        on a GPU: ours and eager against fp64
python -m benchmarks.check_kernelbench --path kb --device cpu --scale-down 16 --out rows.jsonl

--path is KernelBench's own folder of that name, with level1/ and level2/ in it. A run that stopped goes on with
--resume.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.kernelbench_rows import failure, run_problem
from torch_cudaagent.bench.problems import DoesNotScale, find_problems, load_problem, short_name
from torch_cudaagent.offline import capture_for, compile_for, plan_for

Row = dict[str, Any]


def capture_problem(path: pathlib.Path, mode: str, arch: str, build: bool) -> Row:
    """One problem on fake tensors: its regions by kind, and the operators that stay extern."""
    problem = load_problem(path)
    row: Row = {"problem": problem.name, "mode": mode, "status": "captured", "regions": {}, "extern": {}}
    try:
        with torch.device("meta"):
            model, inputs = problem.make().train(mode == "train"), problem.get_inputs()
        if build:
            reports = compile_for(model, inputs, arch)
        else:
            reports = [plan_for(document, arch) for document in capture_for(model, inputs)]
    except Exception as error:
        return row | {"status": "failed", "why": failure(error)}
    regions = [region for report in reports for region in report["regions"]]
    row["regions"] = dict(collections.Counter(region["kind"] for region in regions))
    row["extern"] = dict(collections.Counter(op for r in regions if r["kind"] == "external" for op in r["nodes"]))
    return row if reports else row | {"status": "failed", "why": "no graph was captured"}


def show(row: Row) -> None:
    errors = f"  error {row['error']:.1e} (eager {row['eager_error']:.1e})" if "error" in row else ""
    times = f"  ours {row['ours_ms']:.2f} eager {row['eager_ms']:.2f} ms" if "ours_ms" in row else ""
    extern = " ".join(f"{op.removeprefix('aten::')}:{n}" for op, n in row.get("extern", {}).items())
    name = f"{row['problem'][:44]:44s} {row['mode']:5s} {row['status']:9s}"
    print(f"{name}{errors}{times}  {row.get('regions', {})} {extern} {row.get('why', '')}", flush=True)


def summarise(rows: Sequence[Row]) -> None:
    """Rows by status, then the extern operators by how many problems have them."""
    print("\n" + ", ".join(f"{n} {status}" for status, n in collections.Counter(r["status"] for r in rows).items()))
    nodes: collections.Counter[str] = collections.Counter()
    problems: dict[str, set[str]] = collections.defaultdict(set)
    for row in rows:
        for op, count in row.get("extern", {}).items():
            nodes[op] += count
            problems[op].add(row["problem"])
    print(f"{'extern operator':44s} {'nodes':>6s} {'problems':>8s}")
    for op in sorted(nodes, key=lambda name: (-len(problems[name]), name)):
        print(f"{op.removeprefix('aten::'):44s} {nodes[op]:6d} {len(problems[op]):8d}")


def read_rows(path: pathlib.Path | None) -> list[Row]:
    """Rows of an earlier run; the last one may be cut short."""
    if path is None or not path.is_file():
        return []
    rows = []
    for line in path.read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def append_row(path: pathlib.Path, row: Row) -> None:
    """On a line of its own, whatever a run that was cut short left at the end."""
    whole = not path.is_file() or path.read_bytes()[-1:] in (b"", b"\n")
    with path.open("a") as out:
        out.write(("" if whole else "\n") + json.dumps(row) + "\n")


def same_in_eval(row: Row, name: str, mode: str) -> bool:
    """Whether `row`, of the training mode, stands for eval mode too: no module of that problem asks which it is."""
    trained = row["problem"].split()[0] == name and row["mode"] == "train"
    return mode == "eval" and trained and row.get("modal") is False


def run_mode(path: pathlib.Path, mode: str, args: argparse.Namespace) -> Row:
    if args.capture:
        return capture_problem(path, mode, args.arch, args.compile)
    options = {} if args.proved else {"verify": False, "measure": False}
    try:
        row = run_problem(path, mode, args.device, args.scale_down, options, args.seconds)
    except DoesNotScale as error:
        row = {"status": "does not scale", "why": str(error)}
    except Exception as error:
        row = {"status": "failed", "why": failure(error)}
    torch.compiler.reset()
    if args.device == "cuda":
        torch.cuda.empty_cache()
    return {"problem": f"{short_name(path)} {path.stem.partition('_')[2]}", "mode": mode} | row


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", type=pathlib.Path, required=True, help="KernelBench's folder, with level1/ in it")
    parser.add_argument("--levels", default="1,2")
    parser.add_argument("--modes", default="train,eval")
    parser.add_argument("--problems", default="", help="only these: 1/23,2/5")
    parser.add_argument("--shard", default="0/1", help="i/n: every n-th problem from the i-th")
    parser.add_argument("--capture", action="store_true", help="capture and plan on fake CUDA tensors, run nothing")
    parser.add_argument("--compile", action="store_true", help="with --capture: build every kernel as well")
    parser.add_argument("--arch", default="sm_90a", help="with --capture (default sm_90a)")
    parser.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    parser.add_argument("--scale-down", type=int, metavar="N", help="cap the sizes in a problem's constants at N")
    parser.add_argument("--proved", action="store_true", help="prove and measure kernels, as a user would have it")
    parser.add_argument("--seconds", type=float, default=0.2, help="of timing for each row (default 0.2)")
    parser.add_argument("--out", type=pathlib.Path, help="append rows here, one JSON object a line")
    parser.add_argument("--resume", action="store_true", help="skip the rows that --out holds")
    parser.add_argument("--limit-s", type=float, default=float("inf"), help="start no row after so many seconds")
    args = parser.parse_args(argv)
    start = time.monotonic()
    first, step = map(int, args.shard.split("/"))
    picks = args.problems.split(",") if args.problems else []
    paths = find_problems(args.path, [int(n) for n in args.levels.split(",")], picks)
    rows = read_rows(args.out) if args.resume else []
    done = {(row["problem"].split()[0], row["mode"]) for row in rows}
    for path in paths[first::step]:
        for mode in args.modes.split(","):
            if (short_name(path), mode) in done:
                continue
            if time.monotonic() - start > args.limit_s:
                print("out of time: go on with --resume")
                summarise(rows)
                return 0
            same = bool(rows) and same_in_eval(rows[-1], short_name(path), mode)
            rows.append(rows[-1] | {"mode": mode, "as": "train"} if same else run_mode(path, mode, args))
            show(rows[-1])
            if args.out:
                append_row(args.out, rows[-1])
    summarise(rows)
    return int(any(row["status"] in ("failed", "wrong") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
