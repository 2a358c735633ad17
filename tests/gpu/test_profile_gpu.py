"""cudaagent.profile on the card: kernels tied to their operators, PyTorch's own profiler left as it was."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity

import torch_cudaagent as cudaagent


def network() -> nn.Module:
    layers = [nn.Linear(2048, 8192), nn.GELU(), nn.LayerNorm(8192), nn.Linear(8192, 2048)]
    return nn.Sequential(*layers).cuda().eval()


def kernels_by_torch(call: Any) -> float:
    """Microseconds of the device's work in one call."""
    with torch.no_grad(), torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as traced:
        call()
        torch.cuda.synchronize()
    events = [e for e in traced.events() if e.device_type == DeviceType.CUDA and not e.is_user_annotation]
    assert events
    return sum(e.time_range.elapsed_us() for e in events)


def test_kernels_are_tied_to_their_operators(tmp_path: pathlib.Path) -> None:
    model, x = network(), torch.randn(4096, 2048, device="cuda")
    found = cudaagent.profile(model, x, cache_dir=str(tmp_path))
    assert [node.op for node in found.nodes] == ["aten::linear", "aten::gelu", "aten::layer_norm", "aten::linear"]
    assert found.collector == "torch.profiler" and all(node.time_us > 0 for node in found.nodes)
    assert found.nodes_us == pytest.approx(kernels_by_torch(lambda: model(x)), rel=0.15)
    assert all(node.fraction < 1.15 for node in found.nodes), str(found)
    assert {kernel["node"] for kernel in found.kernels} == {0, 1, 2, 3}
    found.chrome_trace(tmp_path / "trace.json")
    assert any(
        event.get("cat") == "kernel" for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    )


def test_torchs_profiler_sees_kernels_afterwards(tmp_path: pathlib.Path) -> None:
    model, x = network(), torch.randn(64, 2048, device="cuda")
    cudaagent.profile(model, x, seconds=0.2, cache_dir=str(tmp_path))
    assert kernels_by_torch(lambda: model(x)) > 0
