"""`cudaagent profile`: the hot operators of a model, or of the models that a script runs."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import click
import torch
from rich.console import Console

from ..errors import UserError
from .load import load_model
from .main import main


@main.command(context_settings={"ignore_unknown_options": True})
@click.option("--device", default="cuda" if torch.cuda.is_available() else "cpu", show_default=True)
@click.option("--input", "inputs", multiple=True, help="an input: DIMS[:dtype[:high]]; repeat it")
@click.option("--seconds", type=float, default=2.0, show_default=True, help="of timing for each model")
@click.option("--top", default=20, show_default=True, help="operators to show")
@click.option("--models", default=1, show_default=True, help="of a script: how many, by their time")
@click.option("--trace", type=click.Path(dir_okay=False, path_type=pathlib.Path), help="write Chrome trace events here")
@click.option("--json", "as_json", is_flag=True, help="print JSON instead of tables")
@click.option("--cache-dir", help="kernel store to use, where the device's ceilings are kept")
@click.argument("target")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def profile(
    target: str,
    arguments: tuple[str, ...],
    device: str,
    inputs: tuple[str, ...],
    seconds: float,
    top: int,
    models: int,
    trace: pathlib.Path | None,
    as_json: bool,
    cache_dir: str | None,
) -> None:
    """Show where a model's time goes, operator by operator, beside the least time the device could take.

    TARGET is MODULE:FACTORY or FILE.py:FACTORY, or a script, which is run with its ARGUMENTS as python would; the
    modules that it called itself are profiled afterwards, with the inputs they had.

    \b
        cudaagent profile torchvision.models:resnet18 --input 1x3x224x224
        cudaagent profile serve.py --trace trace.json
    """
    found = []
    for name, call, given in _models(target, arguments, inputs, device, models):
        with Console(stderr=True).status(f"profiling {name}"):
            found.append(_profile(call, given, seconds, cache_dir))
    if trace is not None:
        found[0].chrome_trace(trace)
    if as_json:
        click.echo(json.dumps([result.to_dict() for result in found] if len(found) > 1 else found[0].to_dict()))
    else:
        for result in found:
            click.echo(result.table(top))
        if trace is not None:
            click.echo(f"{trace} opens in https://ui.perfetto.dev")


def _models(
    target: str, arguments: tuple[str, ...], inputs: tuple[str, ...], device: str, models: int
) -> list[tuple[str, Any, tuple[Any, ...]]]:
    if ":" in target or not target.endswith(".py"):
        if arguments:
            raise UserError(f"{' '.join(arguments)} is not understood; only a script takes arguments of its own.")
        model, example = load_model(target, inputs, device)
        return [(target, model, example)]
    if not pathlib.Path(target).is_file():
        raise UserError(f"There is no file {target}; give a script, or a model as FILE.py:FACTORY.")
    from ..profiling.script import run_script

    seen = run_script(target, arguments)[:models]
    if not seen:
        raise UserError(f"{target} called no torch.nn.Module; name a script that runs a model.")
    for entry in seen:
        name = type(entry.module).__name__
        click.echo(f"{name}: {entry.calls} calls, {entry.seconds:.3f} s in {target}", err=True)
    return [(type(entry.module).__name__, entry.call(), entry.arguments) for entry in seen]


def _profile(call: Any, given: tuple[Any, ...], seconds: float, cache_dir: str | None) -> Any:
    from ..profiling import profile as take

    return take(call, *given, seconds=seconds, cache_dir=cache_dir)
