from __future__ import annotations

import pathlib
import subprocess
from typing import Any

from .children import MODELS

# What a process meets on a full disk, without one: every file ends at a few bytes.
LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"


def test_a_full_cache_folder_costs_the_cache_alone(run: Any, tmp_path: pathlib.Path) -> None:
    # As a file system that learns of it late: the disk is full at fsync, which nothing but the cache calls.
    source, library = tmp_path / "full.c", tmp_path / "full.so"
    source.write_text("#include <errno.h>\nint fsync(int fd) { errno = ENOSPC; return -1; }\n")
    subprocess.run(["g++", "-x", "c", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    child = run(LD_PRELOAD=str(library))
    assert child.result["same"] and child.result["reasons"] == [None, None]
    assert len(child.said) == 1 and "cannot be written (No space left on device)" in child.said[0]
    assert "free some space or set TORCH_CUDAAGENT_CACHE_DIR" in child.said[0]
    assert len(child.result["problems"]) == 2
    assert all("No space left on device" in problem for problem in child.result["problems"])
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert left == []


def test_no_space_for_temporary_files_means_pytorch(run: Any, tmp_path: pathlib.Path) -> None:
    child = run(MODELS.replace("import copy", LIMITED + "import copy"))
    assert child.result["same"]
    assert len([line for line in child.said if "set TMPDIR to another folder" in line]) == 1
    assert len([line for line in child.said if "TORCH_CUDAAGENT_CACHE_DIR" in line]) == 1
    assert len(child.said) == 2
    assert all("set TMPDIR to another folder" in reason for reason in child.result["reasons"])


def test_a_compiler_without_space(run: Any, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "compiler"
    script.write_text('#!/bin/sh\n[ "$1" = --version ] && exec echo 1\necho "as: No space left on device"; exit 1\n')
    script.chmod(0o755)
    child = run(TORCH_CUDAAGENT_CXX=str(script))
    assert child.result["same"] and len(child.said) == 1 and "set TMPDIR to another folder" in child.said[0]
