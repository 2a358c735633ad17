"""What a second process finds in the cache: with it nothing is compiled and nothing is proved again."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys, torch, torch_cudaagent
def function(x):
    return torch.softmax(x * 2, -1)
with torch.no_grad():
    optimized = torch_cudaagent.optimize(function, cache_dir=sys.argv[1], measure=sys.argv[2] == "True")
    optimized(torch.ones(64, 512))
print(json.dumps(torch_cudaagent.explain(optimized).to_dict()))
"""


def start(cache: pathlib.Path, measure: bool) -> tuple[dict[str, int], list[str]]:
    child = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(cache), str(measure)], capture_output=True, text=True, check=True
    )
    report = json.loads(child.stdout)
    verdicts = [r["verdict"]["status"] for p in report["graphs"][0]["programs"] for r in p["regions"] if "verdict" in r]
    return report["totals"]["cache"], verdicts


@pytest.mark.parametrize("measure", [False, True])
def test_a_second_process_judges_nothing(tmp_path: pathlib.Path, measure: bool) -> None:
    start(tmp_path, measure)
    cache, verdicts = start(tmp_path, False)
    assert verdicts == ["passed"]
    assert cache == {"record_hits": 1, "record_misses": 0, "binary_hits": 1, "binary_misses": 0}


def test_times_that_are_missing_are_added_without_a_new_proof(tmp_path: pathlib.Path) -> None:
    start(tmp_path, False)
    cache, _ = start(tmp_path, True)
    assert cache["record_hits"] > 0 and cache["record_misses"] == 0
