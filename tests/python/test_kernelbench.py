"""The KernelBench runner on a problem of our own; the real ones are fetched and never here."""

from __future__ import annotations

import json
import pathlib

import pytest
import torch

from benchmarks.check_kernelbench import append_row, main, read_rows
from torch_cudaagent.bench.problems import load_problem

PROBLEM = """
import torch
class Model(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(features)
    def forward(self, x):
        return torch.relu(self.norm(x)) + 1.0
batch, features = 4096, 64
def get_inputs():
    return [torch.randn(batch, features)]
def get_init_inputs():
    return [features]
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "level1").mkdir()
    (tmp_path / "level1" / "7_Norm.py").write_text(PROBLEM)
    return tmp_path


def rows(path: pathlib.Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_sizes_are_capped(folder: pathlib.Path) -> None:
    problem = load_problem(folder / "level1" / "7_Norm.py", 16)
    assert problem.name == "1/7 Norm"
    assert problem.get_inputs()[0].shape == (16, 16)


def test_captured_without_a_gpu(folder: pathlib.Path) -> None:
    out = folder / "rows.jsonl"
    assert main(["--path", str(folder), "--levels", "1", "--capture", "--out", str(out)]) == 0
    assert [row["status"] for row in rows(out)] == ["captured", "captured"]
    assert all(row["regions"] for row in rows(out))


def test_run_and_resumed(folder: pathlib.Path) -> None:
    out = folder / "rows.jsonl"
    command = ["--path", str(folder), "--levels", "1", "--device", "cpu", "--scale-down", "16", "--seconds", "0"]
    try:
        assert main([*command, "--out", str(out)]) == 0
        assert main([*command, "--out", str(out), "--resume"]) == 0
    finally:
        torch.set_default_device(None)
    assert [(row["mode"], row["status"]) for row in rows(out)] == [("train", "right"), ("eval", "right")]


def test_a_row_after_a_cut_line_can_be_read(tmp_path: pathlib.Path) -> None:
    out = tmp_path / "rows.jsonl"
    append_row(out, {"problem": "1/1 A", "mode": "train"})
    out.write_text(out.read_text() + '{"problem": "1/2')
    append_row(out, {"problem": "1/3 C", "mode": "train"})
    assert [row["problem"] for row in read_rows(out)] == ["1/1 A", "1/3 C"]
