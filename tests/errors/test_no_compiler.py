from __future__ import annotations

import pathlib
from typing import Any

import pytest

REASON = "cannot run the host compiler 'g++' (No such file or directory); run `apt-get install g++` or name another one"


def test_one_sentence_names_the_remedy(run: Any, doctor: Any, tmp_path: pathlib.Path) -> None:
    environment = {"PATH": str(tmp_path), "CXX": None, "TORCH_CUDAAGENT_CXX": None}
    child = run(**environment)
    assert child.result["same"]
    assert len(child.said) == 1 and child.said[0].startswith(REASON)
    assert child.said[0].endswith("; until then the results are computed by PyTorch alone.")
    assert all(reason.startswith(REASON) for reason in child.result["reasons"])
    finding = doctor(**environment)["host compiler"]
    assert finding["state"] == "missing" and finding["detail"].startswith(REASON)


def test_a_compiler_named_by_mistake(run: Any) -> None:
    child = run(TORCH_CUDAAGENT_CXX="/nowhere/g++")
    assert child.result["same"] and len(child.said) == 1
    assert "'/nowhere/g++'" in child.said[0] and "TORCH_CUDAAGENT_CXX" in child.said[0]


@pytest.mark.parametrize("says", ["g++ (Ubuntu 11.4.0-1ubuntu1) 11.4.0", "Debian clang version 16.0.6"])
def test_a_compiler_that_is_too_old_or_another(run: Any, tmp_path: pathlib.Path, says: str) -> None:
    script = tmp_path / "compiler"
    script.write_text(f'#!/bin/sh\necho "{says}"\n')
    script.chmod(0o755)
    child = run(TORCH_CUDAAGENT_CXX=str(script))
    assert child.result["same"] and len(child.said) == 1
    assert says in child.said[0] and "need g++ 12 or later" in child.said[0]


def test_a_compiler_that_refuses_everything_costs_no_result(run: Any, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "compiler"
    script.write_text('#!/bin/sh\n[ "$1" = --version ] && exec echo "g++ (Somebody 13) 13.2.0"\nexit 1\n')
    script.chmod(0o755)
    child = run(TORCH_CUDAAGENT_CXX=str(script))
    assert child.result["same"] and child.said == []
