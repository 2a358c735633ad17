"""What tests share: compare an optimized callable with the eager one, and look at what was captured."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch.utils import _pytree as pytree

import torch_cudaagent as cudaagent


def assert_same(got: Any, wanted: Any, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    got_leaves, got_spec = pytree.tree_flatten(got)
    wanted_leaves, wanted_spec = pytree.tree_flatten(wanted)
    assert got_spec == wanted_spec, f"{got_spec} is not {wanted_spec}"
    for one, other in zip(got_leaves, wanted_leaves, strict=True):
        if isinstance(other, torch.Tensor):
            assert one.dtype == other.dtype and one.device == other.device and one.shape == other.shape
            assert one.requires_grad == other.requires_grad
            if other.layout is torch.strided:
                assert _real_strides(one) == _real_strides(other), (one.stride(), other.stride())
            torch.testing.assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True)
        else:
            assert one == other and type(one) is type(other)


def _real_strides(tensor: torch.Tensor) -> list[int]:
    if tensor.numel() == 0:
        return []
    return [stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1]


def graphs(model: Any) -> list[dict[str, Any]]:
    return cudaagent.explain(model).to_dict()["graphs"]


def assert_captured(model: Any, count: int | None = None) -> None:
    """Every graph became a program, and no call went to PyTorch."""
    seen = graphs(model)
    assert seen, "nothing was captured"
    for graph in seen:
        assert graph["why_eager"] is None, graph["why_eager"]
        assert not graph["eager_calls"], graph["eager_calls"]
        assert graph["programs"]
    if count is not None:
        assert len(seen) == count


def assert_left_to_pytorch(model: Any, reason: str) -> None:
    assert any(reason in (graph["why_eager"] or "") for graph in graphs(model)), graphs(model)


def check_module(optimize: Any, module: torch.nn.Module, *inputs: Any, captured: bool = True, **options: Any) -> Any:
    """A copy of `module`, optimized, gives what `module` gives, twice, without gradients; returns the copy."""
    fast = optimize(copy.deepcopy(module), **options)
    for _ in range(2):
        with torch.no_grad():
            assert_same(fast(*copy.deepcopy(inputs)), module(*copy.deepcopy(inputs)))
    if captured:
        assert_captured(fast)
    return fast
