"""A failing document made small."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from torch_cudaagent import minify
from torch_cudaagent.options import make_options


def value(dims: list[int]) -> dict[str, Any]:
    return {"dtype": "float32", "dims": dims, "strides": [1], "device": "cpu"}


def chain(*ops: str) -> dict[str, Any]:
    return {
        "values": [value([4]) for _ in range(len(ops) + 1)],
        "inputs": [{"value": 0, "kind": "user", "target": ""}],
        "nodes": [{"op": op, "args": [["self", {"ref": i}]], "outputs": [i + 1]} for i, op in enumerate(ops)],
        "outputs": [{"value": len(ops), "alias_of": None}],
        "mutations": [],
    }


def test_the_part_that_fails_remains() -> None:
    graph = chain("aten::neg", "aten::exp", "aten::sin", "aten::abs", "aten::cos")
    small = minify.minify(graph, lambda part: any(node["op"] == "aten::sin" for node in part["nodes"]))
    assert [node["op"] for node in small["nodes"]] == ["aten::sin"]


def test_a_trial_runs_pytorch_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    real = minify.interpreted
    monkeypatch.setattr(minify, "interpreted", lambda *given: runs.append(1) or real(*given))
    options = make_options({"verify": False, "measure": False}).to_json()
    assert minify.failure(chain("aten::neg", "aten::exp"), options) is None
    assert len(runs) == 1
    monkeypatch.setattr(minify, "compiled", lambda *_: [torch.zeros(4)])
    assert (
        minify.failure(chain("aten::neg", "aten::exp"), options) == "output 0 differs from PyTorch by more than 0.0001"
    )
