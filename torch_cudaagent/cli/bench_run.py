"""`cudaagent bench kernelbench` and `cudaagent bench model`: the runs that leave rows."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click
import torch

from ..bench import selection
from ..bench.problems import find_problems
from ..bench.row import PROTOCOLS, VARIANTS, Mode
from ..bench.session import Plan, execute
from ..bench.tasks import Task
from ..errors import UserError

_DEFAULT_VARIANTS = "eager,default,reduce-overhead,max-autotune,half,ours"
_SMALL = 64  # the cap of sizes on the CPU
_FOLDER = click.Path(file_okay=False, path_type=pathlib.Path)
_OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("--out", {"type": _FOLDER, "required": True, "help": "folder of the results: run.json and rows.jsonl"}),
    ("--device", {"type": click.Choice(["cpu", "cuda"]), "default": "cuda" if torch.cuda.is_available() else "cpu"}),
    ("--variants", {"default": _DEFAULT_VARIANTS, "help": f"of {', '.join(VARIANTS)}; eager and ours always run"}),
    ("--protocol", {"default": "seed,equal", "help": f"of {', '.join(PROTOCOLS)}"}),
    ("--freeze", {"is_flag": True, "help": "ours with freeze=True as well"}),
    ("--seconds", {"type": float, "default": 3.0, "help": "of timing for each problem"}),
    ("--baselines", {"type": _FOLDER, "help": "times of torch.compile from this earlier run; for daily use only"}),
    ("--resume", {"is_flag": True, "help": "go on with the run in --out; problems that have a row are left out"}),
    ("--workers", {"type": int, "default": 0, "help": "processes that prepare side by side; 0: half the cores"}),
    ("--variant-limit", {"type": float, "default": 150.0, "help": "seconds to prepare one variant"}),
    ("--stage-limit", {"type": float, "default": 240.0, "help": "seconds to time a problem, and to judge it"}),
    ("--stop-after", {"type": float, "default": float("inf"), "help": "start no problem after so many seconds"}),
)


def _run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What both commands take."""
    for name, attributes in reversed(_OPTIONS):
        function = click.option(name, show_default="required" not in attributes, **attributes)(function)
    return function


def _words(text: str, known: Sequence[str], option: str) -> tuple[str, ...]:
    words = tuple(word for word in text.split(",") if word)
    if not words or not set(words) <= set(known):
        raise UserError(f"{option} {text} is not understood; take from {', '.join(known)}, with commas between.")
    return words


def _plan(variants: str, protocol: str, freeze: bool, **values: Any) -> Plan:
    protocols = _words(protocol, PROTOCOLS, "--protocol")
    named = _words(variants, VARIANTS, "--variants")
    wanted = {"eager", "ours"} if values["baselines"] else {"eager", "ours", *named}
    wanted |= ({"ours_frozen"} if freeze else set()) | ({"eager_tf32"} if "verified" in protocols else set())
    if values["device"] == "cuda" and not torch.cuda.is_available():
        raise UserError("There is no GPU here; use --device cpu, which takes small sizes.")
    return Plan(variants=tuple(v for v in VARIANTS if v in wanted), protocols=protocols, **values)


@click.command()
@click.option("--path", type=_FOLDER, required=True, help="the folder that holds level1, level2, level3")
@click.option("--level", default="1,2,3", show_default=True)
@click.option("--subset", type=click.Choice(["all", "quick"]), default="all", help="quick: 25 problems of all families")
@click.option("--problems", default="", help="only these, as in 1/23,2/5")
@click.option("--eval", "evaluating", is_flag=True, help="in eval mode, which KernelBench itself never enters")
@click.option("--shard", default="1/1", show_default=True, help="2/4: the second of four; sentinels run in each")
@click.option("--scale-down", type=int, help=f"cap the sizes in a problem at this (on the CPU: {_SMALL})")
@_run_options
def kernelbench(
    path: pathlib.Path,
    level: str,
    subset: str,
    problems: str,
    evaluating: bool,
    shard: str,
    scale_down: int | None,
    **values: Any,
) -> None:
    """Run KernelBench's problems: eager, torch.compile's modes and ours side by side, judged by three protocols.

    KernelBench is not part of this package: get it from https://github.com/ScalingIntelligence/KernelBench and name
    its folder KernelBench. A row is appended to OUT/rows.jsonl as each problem ends; a run that was stopped goes on
    with --resume, and `cudaagent bench summary OUT` shows what is there.
    """
    plan = _plan(**values)
    levels = [int(word) for word in _words(level, [str(n) for n in selection.LEVELS], "--level")]
    picks = selection.QUICK if subset == "quick" else tuple(word for word in problems.split(",") if word)
    mode: Mode = "eval" if evaluating else "train"
    cap = scale_down if scale_down is not None else (_SMALL if plan.device == "cpu" else None)
    paths = find_problems(path, levels, picks)
    tasks = selection.tasks_of(paths, [mode], shard, cap)
    _conclude(plan, execute(plan, "kernelbench", tasks, [selection.full_name(p) for p in paths], shard))


@click.command()
@click.argument("target")
@click.option("--input", "inputs", multiple=True, help="an input: DIMS[:dtype[:high]]; repeat it")
@click.option("--train", is_flag=True, help="in training mode, under no_grad")
@_run_options
def model(target: str, inputs: tuple[str, ...], train: bool, **values: Any) -> None:
    """Run a model of your own beside torch.compile. TARGET is MODULE:FACTORY or FILE.py:FACTORY.

    \b
        cudaagent bench model torchvision.models:resnet18 --input 8x3x224x224 --out resnet18
    """
    plan = _plan(**values)
    task = Task(target, 0, "train" if train else "eval", inputs=inputs)
    _conclude(plan, execute(plan, "model", [task], [target]))


def _conclude(plan: Plan, left: int) -> None:
    if left:
        click.echo(f"Not finished: the rows so far are in {plan.out}; go on with --resume.")
        sys.exit(130 if left < 0 else 3)
    click.echo(f"The rows are in {plan.out}; `cudaagent bench summary {plan.out}` shows them.")
