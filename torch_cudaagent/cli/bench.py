"""`cudaagent bench`: runs, and what is read from them."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import click

from ..bench.compare import compare as compare_rows
from ..bench.row import PROTOCOLS, Header, count_unreadable, read_header, read_rows
from ..bench.summary import Summary, as_json, summarise
from ..bench.text import print_changes, print_summary, readme_table, title, unfinished, with_table
from .bench_run import kernelbench, model
from .main import main
from .show import console

_FOLDER = click.Path(path_type=pathlib.Path)


@main.group()
def bench() -> None:
    """Run models beside torch.compile, and read what such runs left."""


bench.add_command(kernelbench)
bench.add_command(model)


def _read(folder: pathlib.Path) -> tuple[Header, list[Summary]]:
    header = read_header(folder)
    return header, summarise(header, read_rows(folder))


@bench.command()
@click.argument("folder", type=_FOLDER)
@click.option("--top", default=30, show_default=True, help="problems to list with the largest time above their floor")
@click.option("--json", "json_wanted", is_flag=True, help="print JSON instead of tables")
def summary(folder: pathlib.Path, top: int, json_wanted: bool) -> None:
    """Show what a run amounts to: rates, means, costs, and where time is left."""
    header, summaries = _read(folder)
    unreadable = count_unreadable(folder)
    if json_wanted:
        document: dict[str, Any] = {"header": header, "summaries": [as_json(found) for found in summaries]}
        click.echo(json.dumps(document | {"finished": not unfinished(header, summaries), "unreadable": unreadable}))
    else:
        print_summary(console(), header, summaries, unreadable, top)


@bench.command()
@click.argument("folders", type=_FOLDER, nargs=-1, required=True)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=pathlib.Path), default="report.html", show_default=True
)
def report(folders: tuple[pathlib.Path, ...], out: pathlib.Path) -> None:
    """Write one HTML page that needs no network: plots, tables, each problem's kernels.

    The last of FOLDERS is shown in full; with others before it, progress is drawn from run to run.
    """
    from ..bench.report import write

    write(folders, out)
    click.echo(f"{out} is written; open it in a browser.")


@bench.command()
@click.argument("before", type=_FOLDER)
@click.argument("after", type=_FOLDER)
@click.option("--protocol", type=click.Choice(PROTOCOLS), default="equal", show_default=True)
@click.option("--fail", is_flag=True, help="exit with 1 if anything got slower or broke")
def compare(before: pathlib.Path, after: pathlib.Path, protocol: str, fail: bool) -> None:
    """Show what got faster, slower, broke or was mended between two runs, beyond their noise."""
    for word, folder in (("before", before), ("after", after)):
        click.echo(f"{word}: {title(read_header(folder))}")
    changes = compare_rows(read_rows(before), read_rows(after), protocol)
    print_changes(console(), changes)
    sys.exit(int(fail and any(change.kind in ("slower", "broke", "gone") for change in changes)))


@bench.command()
@click.argument("folder", type=_FOLDER)
@click.argument("readme", type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path), default="README.md")
@click.option("--check", is_flag=True, help="write nothing; exit with 1 if the table is another")
def readme(folder: pathlib.Path, readme: pathlib.Path, check: bool) -> None:
    """Write a run's table into README between the two markers."""
    text = with_table(readme, readme_table(*_read(folder)))
    same = text == readme.read_text()
    if not check and not same:
        readme.write_text(text)
    click.echo(f"{readme} {'is up to date' if same else 'differs from the run' if check else 'was written'}")
    sys.exit(int(check and not same))
