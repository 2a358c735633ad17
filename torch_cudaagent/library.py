"""Finds and loads the native library and what it needs beside it: the judge, the preludes, NVRTC, shipped records."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import pathlib
from typing import Any

import torch

from .errors import UserError

LIBRARY = "libtorch_cudaagent.so"
PACKAGE = pathlib.Path(__file__).resolve().parent


def folder() -> pathlib.Path:
    """Where the native files are: TORCH_CUDAAGENT_LIB_DIR for a development build, else inside the package."""
    development = os.environ.get("TORCH_CUDAAGENT_LIB_DIR")
    return pathlib.Path(development) if development else PACKAGE / "_lib"


def disabled() -> bool:
    """True when the user turned the whole package off from outside."""
    return os.environ.get("TORCH_CUDAAGENT_DISABLE", "0") not in ("", "0")


@functools.cache
def load() -> None:
    """Loads the native library once; a UserError says what to do when that fails."""
    path = folder() / LIBRARY
    if not path.is_file():
        raise UserError(
            f"{LIBRARY} is not in {path.parent}; install the package with `pip install .`, "
            "or set TORCH_CUDAAGENT_LIB_DIR to the folder of a development build."
        )
    built = _built_for(path.parent)
    if built and _minor(built) != _minor(torch.__version__):
        raise UserError(_other_torch(built))
    try:
        torch.ops.load_library(str(path))
    except OSError as error:
        raise UserError(f"{_other_torch(built or 'another version')} The loader said: {error}") from error


def _built_for(where: pathlib.Path) -> str | None:
    record = where / "build.json"
    return json.loads(record.read_text()).get("torch") if record.is_file() else None


def _minor(version: str) -> tuple[str, ...]:
    return tuple(version.split(".")[:2])


def _other_torch(built: str) -> str:
    return (
        f"The native library was built for torch {built}, and torch {torch.__version__} is running: "
        "install it again with `pip install --force-reinstall --no-build-isolation .`."
    )


@functools.cache
def _located() -> dict[str, Any]:
    found: dict[str, Any] = {}
    judge = folder() / "cudaagent-judge"
    if judge.is_file():
        found["judge_path"] = str(judge)
    source = PACKAGE.parent / "csrc" / "codegen" / "templates"
    for prelude in (folder() / "prelude", source):
        if prelude.is_dir():
            found["prelude_dir"] = str(prelude)
            break
    nvrtc = find_nvrtc()
    if nvrtc:
        found["nvrtc_path"] = str(nvrtc)
    layers = [layer for layer in (PACKAGE / "kernels_cache", PACKAGE.parent / "kernels_cache") if layer.is_dir()]
    if layers:
        found["cache_layers"] = [str(layers[0])]
    return found


def paths() -> dict[str, Any]:
    """The fields of csrc/base/options.h that name files."""
    return dict(_located())


def find_nvrtc() -> pathlib.Path | None:
    """The NVRTC that torch carries: in NVIDIA's wheels, or beside libtorch."""
    folders = []
    spec = importlib.util.find_spec("nvidia")
    if spec and spec.submodule_search_locations:
        for root in spec.submodule_search_locations:
            folders += sorted(pathlib.Path(root).glob("*/lib"), reverse=True)
    folders.append(pathlib.Path(torch.__file__).parent / "lib")
    for where in folders:
        names = [
            name for name in where.glob("libnvrtc*.so*") if "builtins" not in name.name and ".alt." not in name.name
        ]
        if names:
            return sorted(names)[0]
    return None
