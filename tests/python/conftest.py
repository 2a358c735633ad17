"""Tests run on the native library; with CUDAAGENT_TEST_CORE=python on the interpreter, to test capture alone."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(pathlib.Path(__file__).resolve().parent)]

import torch_cudaagent as cudaagent  # noqa: E402
from torch_cudaagent import library  # noqa: E402

PYTHON_CORE = os.environ.get("CUDAAGENT_TEST_CORE") == "python"
if PYTHON_CORE:
    import python_core

    python_core.install()
    library.load = lambda: None  # type: ignore[assignment]


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """A store of the session's own, so that no test depends on what an earlier run left."""
    if "TORCH_CUDAAGENT_CACHE_DIR" not in os.environ:
        os.environ["TORCH_CUDAAGENT_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True)
def _fresh(request):
    torch._dynamo.reset()
    torch.manual_seed(0)


@pytest.fixture
def optimize():
    """optimize() without timing against eager: tests are about results."""

    def call(model=None, **options):
        return cudaagent.optimize(model, measure=False, **options)

    return call
