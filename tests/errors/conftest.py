"""One bad input a file, each met by a process of its own: what it says, and that the results are still PyTorch's."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest

from .children import MODELS, Child

Run = Callable[..., Child]


@pytest.fixture
def run(tmp_path: pathlib.Path) -> Run:
    """Runs a script with some of the environment changed; None takes a variable away."""

    def call(script: str = MODELS, **changes: str | None) -> Child:
        environment = os.environ | {"TORCH_CUDAAGENT_CACHE_DIR": str(tmp_path / "cache")} | changes
        environment = {name: value for name, value in environment.items() if value is not None}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script], env=environment, capture_output=True, text=True, timeout=300
        )
        lines = done.stdout.splitlines()
        return Child(done.returncode, json.loads(lines[-1]) if lines else None, done.stderr.splitlines())

    return call


@pytest.fixture
def doctor(run: Run) -> Callable[..., dict[str, dict[str, str]]]:
    """The findings of `cudaagent doctor` by what they are about."""

    def call(**changes: str | None) -> dict[str, dict[str, str]]:
        script = "from torch_cudaagent.cli import main; main(['doctor', '--json'])"
        return {finding["what"]: finding for finding in run(script, **changes).result}

    return call
