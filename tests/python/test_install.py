"""The installed package, as another process finds it: entry points, command, library and preludes in their place."""

from __future__ import annotations

import importlib.metadata
import json
import pathlib
import subprocess
import sys

import pytest


@pytest.fixture(scope="module", autouse=True)
def installed() -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution("torch_cudaagent")
    except importlib.metadata.PackageNotFoundError:
        pytest.fail("torch_cudaagent is not installed here; run ./dev build")


def run(code: str, folder: pathlib.Path) -> str:
    """In a process that has imported nothing of ours and stands elsewhere."""
    result = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_dynamo_finds_the_backend_by_its_entry_point(tmp_path: pathlib.Path) -> None:
    code = (
        "import torch\n"
        "model = torch.compile(torch.nn.ReLU(), backend='cudaagent')\n"
        "with torch.no_grad(): print(model(torch.tensor([-1.0, 2.0])).tolist())\n"
        "import torch_cudaagent, torch._dynamo\n"
        "print(torch._dynamo.list_backends().count('cudaagent'))"
    )
    assert run(code, tmp_path).splitlines() == ["[0.0, 2.0]", "1"]


def test_importing_first_registers_once_too(tmp_path: pathlib.Path) -> None:
    code = (
        "import torch_cudaagent, torch\n"
        "model = torch.compile(torch.nn.ReLU(), backend='cudaagent')\n"
        "with torch.no_grad(): print(model(torch.tensor([-1.0, 2.0])).tolist())"
    )
    assert run(code, tmp_path) == "[0.0, 2.0]"


def test_alias_is_the_same_package(tmp_path: pathlib.Path) -> None:
    code = "import cudaagent, torch_cudaagent as t; print(cudaagent.optimize is t.optimize, cudaagent.__version__)"
    assert run(code, tmp_path) == f"True {importlib.metadata.version('torch_cudaagent')}"


def test_command_is_there() -> None:
    command = pathlib.Path(sys.executable).parent / "cudaagent"
    result = subprocess.run([str(command), "--version"], capture_output=True, text=True, check=True)
    assert result.stdout.strip().endswith(importlib.metadata.version("torch_cudaagent"))


def test_native_files_are_beside_the_library(tmp_path: pathlib.Path) -> None:
    code = (
        "from torch_cudaagent import library; import json; print(json.dumps([str(library.folder()), library.paths()]))"
    )
    folder, paths = json.loads(run(code, tmp_path))
    assert (pathlib.Path(folder) / "libtorch_cudaagent.so").is_file()
    assert pathlib.Path(paths["judge_path"]).parent == pathlib.Path(folder)
    assert (pathlib.Path(paths["prelude_dir"]) / "cudaagent_host.h").is_file()
    assert (pathlib.Path(paths["prelude_dir"]) / "cudaagent_cuda.cuh").is_file()


def test_supported_torch_versions_are_declared(installed: importlib.metadata.Distribution) -> None:
    requirements = " ".join(installed.requires or [])
    assert ">=2.11" in requirements and "<2.15" in requirements
    assert installed.metadata["Requires-Python"] == ">=3.10"
