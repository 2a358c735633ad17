from __future__ import annotations

import pathlib
from typing import Any


def test_one_sentence_and_kernels_all_the_same(run: Any, doctor: Any, tmp_path: pathlib.Path) -> None:
    # A file in the folder's place: its permissions would not stop root.
    folder = tmp_path / "file"
    folder.write_text("")
    child = run(TORCH_CUDAAGENT_CACHE_DIR=str(folder))
    assert child.result["same"] and child.result["reasons"] == [None, None]
    reason = f"the cache folder {folder} cannot be written (Not a directory), so kernels are compiled anew"
    assert len(child.said) == 1 and reason in child.said[0]
    assert "set TORCH_CUDAAGENT_CACHE_DIR to another folder" in child.said[0]
    assert len(child.result["problems"]) == 2 and all(p.startswith(reason) for p in child.result["problems"])
    assert doctor(TORCH_CUDAAGENT_CACHE_DIR=str(folder))["cache"]["state"] == "missing"
