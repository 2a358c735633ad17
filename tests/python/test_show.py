"""Tables of the command line."""

from __future__ import annotations

from typing import Any

import pytest

from torch_cudaagent.cli import show


def region(name: str, before: float = 4.0) -> dict[str, Any]:
    return {
        "kind": "generated",
        "name": name,
        "nodes": ["aten::relu"],
        "verdict": {"eager_us": before, "kernel_us": 2.0},
    }


def test_equal_regions_share_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    left = {"kind": "external", "nodes": ["aten::linear"], "why": "no template"}
    regions = [region("ca_a"), region("ca_a"), region("ca_a", 6.0), region("ca_b"), left, left]
    show.regions({"graphs": [{"programs": [{"regions": regions}], "why_eager": ""}]})
    printed = capsys.readouterr().out
    rows = [[cell.strip() for cell in line.split("│")[1:3]] for line in printed.splitlines() if "ca_" in line]
    assert rows == [["ca_a", "2"], ["ca_a", "1"], ["ca_b", "1"]]
    assert "with PyTorch: 2 x linear: no template" in printed
