"""Subcommands of `cudaagent`; each is a thin layer over the library."""

from __future__ import annotations

import json
import pathlib
import sys
import time
from typing import Any

import click
import torch
from rich.console import Console

from .. import library
from ..errors import UserError
from . import show
from .load import load_model

MODEL_HELP = """
TARGET is MODULE:FACTORY or FILE.py:FACTORY; the factory returns a torch.nn.Module, or a pair (module, inputs).

\b
    cudaagent {name} torchvision.models:resnet18 --input 1x3x224x224
    cudaagent {name} my_model.py:build --input 4x128:int64:1000
"""


class Group(click.Group):
    """A group that shows a user's mistake as one sentence and exits with 2, and leaves quietly on Ctrl-C."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except UserError as error:
            raise click.UsageError(str(error)) from error


def model_command(name: str, summary: str) -> Any:
    """Decorators of a subcommand that takes a model."""

    def decorate(function: Any) -> Any:
        device = "cuda" if torch.cuda.is_available() else "cpu"
        function = click.option("--device", default=device, show_default=True, help="where the model runs")(function)
        function = click.option("--precision", default="highest", show_default=True, help="highest, high or medium")(
            function
        )
        function = click.option("--cache-dir", help="kernel store to use instead of the user's own")(function)
        function = click.option("--json", "as_json", is_flag=True, help="print JSON instead of a table")(function)
        function = click.option("--input", "inputs", multiple=True, help="an input: DIMS[:dtype[:high]]; repeat it")(
            function
        )
        function = click.argument("target")(function)
        return main.command(name, help=summary + MODEL_HELP.format(name=name))(function)

    return decorate


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="torch_cudaagent")
def main() -> None:
    """Fused kernels for PyTorch models, each proved against double precision.

    In Python: `import torch_cudaagent as cudaagent; model = cudaagent.optimize(model)`.
    """


def _optimized(
    target: str, inputs: tuple[str, ...], device: str, precision: str, cache_dir: str | None
) -> tuple[Any, Any, float]:
    import torch_cudaagent

    model, example = load_model(target, inputs, device)
    options = {"precision": precision} | ({"cache_dir": cache_dir} if cache_dir else {})
    with Console(stderr=True).status(f"optimizing {target} for {device}"), torch.no_grad():
        start = time.perf_counter()
        optimized = torch_cudaagent.optimize(model, **options)
        optimized(*example)
        seconds = time.perf_counter() - start
    return optimized, example, seconds


@model_command("optimize", "Optimize a model once, so that its kernels are in the cache, and show what was done.")
def optimize(
    target: str, inputs: tuple[str, ...], device: str, precision: str, cache_dir: str | None, as_json: bool
) -> None:
    import torch_cudaagent

    optimized, _, seconds = _optimized(target, inputs, device, precision, cache_dir)
    report = torch_cudaagent.explain(optimized)
    if as_json:
        click.echo(json.dumps(report.to_dict()))
    else:
        show.regions(report.to_dict())
        click.echo(f"optimized and run once in {seconds:.1f} s")


@model_command("explain", "Show regions, their errors and times, and what stayed with PyTorch and why.")
@click.option("-v", "--verbosity", type=click.IntRange(0, 2), default=1, help="0: totals; 2: kernels' source too")
def explain(
    target: str,
    inputs: tuple[str, ...],
    device: str,
    precision: str,
    cache_dir: str | None,
    as_json: bool,
    verbosity: int,
) -> None:
    import torch_cudaagent

    optimized, _, _ = _optimized(target, inputs, device, precision, cache_dir)
    report = torch_cudaagent.explain(optimized, verbosity)
    click.echo(json.dumps(report.to_dict()) if as_json else str(report))


@main.group()
def cache() -> None:
    """Look into the kernel store, check it, make it smaller."""


def _store(cache_dir: str | None) -> tuple[str, list[str]]:
    from ..options import make_options

    library.load()
    options = json.loads(
        torch.ops.cudaagent.options(make_options({"cache_dir": cache_dir} if cache_dir else {}).to_json())
    )
    return options["cache_dir"], options["cache_layers"]


cache_dir_option = click.option(
    "--cache-dir", help="the store; default: TORCH_CUDAAGENT_CACHE_DIR or the user's cache folder"
)


@cache.command("ls")
@cache_dir_option
@click.option("--json", "as_json", is_flag=True)
def cache_ls(cache_dir: str | None, as_json: bool) -> None:
    """List the entries, newest first."""
    directory, layers = _store(cache_dir)
    entries = json.loads(torch.ops.cudaagent.cache_list(directory, layers))
    click.echo(json.dumps(entries)) if as_json else show.entries(entries, directory)


@cache.command("verify")
@cache_dir_option
@click.option("--remove", is_flag=True, help="delete damaged entries")
def cache_verify(cache_dir: str | None, remove: bool) -> None:
    """Check every entry against its checksum; exits with 1 when one is damaged."""
    directory, layers = _store(cache_dir)
    entries = json.loads(torch.ops.cudaagent.cache_verify(directory, layers, remove))
    damaged = [entry for entry in entries if entry["damage"]]
    for entry in damaged:
        click.echo(f"{'removed' if remove else 'damaged'}: {entry['path']}: {entry['damage']}")
    click.echo(f"{len(entries) - len(damaged)} of {len(entries)} entries are whole")
    sys.exit(1 if damaged and not remove else 0)


@cache.command("gc")
@cache_dir_option
@click.option("--max-mb", type=int, default=1024, show_default=True, help="megabytes to keep")
def cache_gc(cache_dir: str | None, max_mb: int) -> None:
    """Remove the entries used longest ago until the store is small enough."""
    directory, layers = _store(cache_dir)
    click.echo(f"{torch.ops.cudaagent.cache_gc(directory, layers, max_mb * 2**20)} entries removed")


@cache.command("explain")
@cache_dir_option
@click.argument("digest")
def cache_explain(cache_dir: str | None, digest: str) -> None:
    """Show the key of the entry whose digest starts with DIGEST, and how its nearest relatives differ."""
    directory, layers = _store(cache_dir)
    show.relatives(json.loads(torch.ops.cudaagent.cache_list(directory, layers)), digest)


@main.command()
@click.option("--json", "as_json", is_flag=True)
def doctor(as_json: bool) -> None:
    """Say what is here (compiler, driver, NVRTC, cache) and what to do about what is not."""
    from .doctor import examine

    findings = examine()
    if as_json:
        click.echo(json.dumps(findings))
    else:
        show.findings(findings)
    sys.exit(1 if any(finding["state"] == "missing" for finding in findings) else 0)


@main.command()
@click.argument("graph", type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path))
@click.option("--out", type=click.Path(path_type=pathlib.Path), default=pathlib.Path("minimal.json"), show_default=True)
@click.option("--tolerance", type=float, default=1e-4, show_default=True)
def minify(graph: pathlib.Path, out: pathlib.Path, tolerance: float) -> None:
    """Make a failing graph small, for a bug report.

    GRAPH is a document that TORCH_CUDAAGENT_DUMP_DIR wrote (graph_*.json). The part that still fails is written to
    --out.
    """
    from ..minify import failure
    from ..minify import minify as shrink
    from ..options import make_options

    document = json.loads(graph.read_text())
    options_json = make_options({"verify": False, "measure": False}).to_json()
    why = failure(document, options_json, tolerance)
    if why is None:
        click.echo(f"{graph} does not fail here: compiled and run, it agrees with PyTorch.")
        return
    with Console(stderr=True).status("minifying") as status:
        small = shrink(
            document,
            lambda part: failure(part, options_json, tolerance) is not None,
            lambda left: status.update(f"minifying: {left} nodes left"),
        )
    out.write_text(json.dumps(small, indent=1))
    click.echo(
        f"{why}\n{len(small['nodes'])} of {len(document['nodes'])} nodes remain in {out}; attach it to the report."
    )
