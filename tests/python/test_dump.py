"""TORCH_CUDAAGENT_DUMP_DIR: what a run leaves behind, also one that does not come back."""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import sys
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from torch_cudaagent.cli import main

SCRIPT = """
import torch, torch_cudaagent
model = torch_cudaagent.optimize(torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU()), measure=False)
with torch.no_grad(): model(torch.ones(2, 8))
"""


@pytest.fixture
def run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TORCH_CUDAAGENT_DUMP_DIR", str(tmp_path / "dump"))
    monkeypatch.setenv("TORCH_CUDAAGENT_CACHE_DIR", str(tmp_path / "cache"))

    def call() -> list[str]:
        child = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
        assert child.returncode in (0, -signal.SIGKILL), child.stderr
        return sorted(path.name.split("_")[0] for path in (tmp_path / "dump").iterdir())

    return call


def compiler_that(tmp_path: pathlib.Path, does: str) -> str:
    script = tmp_path / "compiler"
    script.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec echo "a compiler of the test"\n{does}\n')
    script.chmod(0o755)
    return str(script)


def test_every_room_leaves_its_work(run: Any) -> None:
    assert run() == ["ca", "graph", "report", "rewritten"]


@pytest.mark.parametrize("does", ["kill -9 $PPID", "exit 1"])
def test_what_came_before_a_failure_is_there(
    run: Any, does: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_CUDAAGENT_CXX", compiler_that(tmp_path, does))
    left = run()
    assert left[:2] == ["ca", "graph"] and ("report" in left) == (does == "exit 1")
    (document,) = (tmp_path / "dump").glob("graph_*.json")
    assert [node["op"] for node in json.loads(document.read_text())["nodes"]] == ["aten::linear", "aten::gelu"]
    monkeypatch.delenv("TORCH_CUDAAGENT_CXX")
    result = CliRunner().invoke(main, ["minify", str(document), "--out", str(tmp_path / "minimal.json")])
    assert result.exit_code == 0 and "does not fail here" in result.output, result.output


def test_a_dump_folder_that_cannot_be_written_changes_nothing(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, optimize: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TORCH_CUDAAGENT_DUMP_DIR", str(tmp_path / "file"))
    with torch.no_grad():
        assert optimize(torch.nn.ReLU())(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert "set TORCH_CUDAAGENT_DUMP_DIR to a folder you may write" in capfd.readouterr().err
