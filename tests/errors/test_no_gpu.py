from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import torch_cudaagent as cudaagent
from torch_cudaagent import library, offline


def test_without_a_driver_the_cpu_is_optimized_in_silence(run: Any, doctor: Any) -> None:
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    child = run(**hidden)
    assert child.result == {"same": True, "reasons": [None, None], "problems": []} and child.said == []
    if not torch.cuda.is_available():
        driver = doctor()["driver"]
        assert driver["state"] == "absent" and driver["detail"].endswith("the CPU is optimized all the same")


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_a_model_moved_to_a_gpu_that_is_not_there_raises_torchs_error() -> None:
    model = cudaagent.optimize(nn.Linear(2, 2))
    with pytest.raises((RuntimeError, AssertionError), match=r"CUDA|NVIDIA"):
        model.to("cuda")


def test_no_nvrtc_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    without = library.paths() | {"nvrtc_path": "/nowhere/libnvrtc.so.13"}
    monkeypatch.setattr(library, "paths", lambda: without)
    with pytest.raises(ValueError) as caught:
        offline.compile_for(nn.ReLU(), [torch.ones(4)], "sm_90a")
    assert str(caught.value).splitlines()[0] == (
        "no NVRTC to compile CUDA kernels with at /nowhere/libnvrtc.so.13; install a CUDA build of torch "
        "(`pip install torch`)"
    )
