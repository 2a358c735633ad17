"""`cudaagent bench`: runs, and what is read from them."""

from __future__ import annotations

from .bench_run import kernelbench, model
from .main import main


@main.group()
def bench() -> None:
    """Run models beside torch.compile, and read what such runs left."""


bench.add_command(kernelbench)
bench.add_command(model)
