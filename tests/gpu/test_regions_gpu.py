"""The kinds of the memory-bound regions at small and awkward sizes: every kernel is proved on the card."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import torch_cudaagent as cudaagent

ROWS = {
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "var_mean": lambda x: torch.var_mean(x, -1),
    "argmax": lambda x: x.argmax(-1),
    "column_sum": lambda x: x.sum(0),
    "full_sum": lambda x: x.sum(),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.arange(x.shape[0], device=x.device) % x.shape[1]),
}
# Rows in one warp, in a block's registers, over a cluster, in shared memory, fetched, over eight blocks; odd ones too.
LENGTHS = (65, 1000, 4099, 20000, 50257, 131072)
# With an infinity in a row, the mean that PyTorch's Welford gives is NaN in most places and ours is infinite.
KNOWN = {"var_mean": "NaN or infinity differs from eager"}


def left_behind(function: Callable[..., Any], cache: Any, *args: Tensor) -> list[str]:
    """Why operators stayed with PyTorch, each kernel having been proved here and now."""
    optimized = cudaagent.optimize(function, cache_dir=str(cache), measure=False)
    with torch.no_grad():
        optimized(*args)
    regions = cudaagent.explain(optimized).regions()
    assert regions
    return [f"{region['nodes']}: {region['why']}" for region in regions if region["kind"] == "external"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", ROWS)
def test_rows_are_proved(name: str, length: int, dtype: torch.dtype, tmp_path: Any) -> None:
    x = torch.randn(37, length, device="cuda", dtype=dtype)
    left = left_behind(lambda x: ROWS[name](x), tmp_path, x)
    assert all(name in KNOWN and KNOWN[name] in why for why in left), left


@pytest.mark.parametrize("length", [4099, 50257, 100000])
@pytest.mark.parametrize(
    "cut", [lambda x: x[:, 1:], lambda x: x[:, ::2], lambda x: x[1:, :-3]], ids=["offset", "stride", "pitch"]
)
def test_rows_inside_others_are_proved(cut: Callable[[Tensor], Tensor], length: int, tmp_path: Any) -> None:
    x = torch.randn(21, length, device="cuda")
    assert left_behind(lambda x: torch.log_softmax(cut(x), -1), tmp_path, x) == []


def test_rows_that_begin_apart_are_proved(tmp_path: Any) -> None:
    x, y = torch.randn(21, 50257, device="cuda"), torch.randn(21, 50300, device="cuda", dtype=torch.float16)
    assert left_behind(lambda x, y: torch.softmax(x + y[:, 5:50262], -1), tmp_path, x, y) == []


NORMS = {
    "layer_norm": lambda x, w, b: F.layer_norm(x, x.shape[-1:], w[: x.shape[-1]], b[: x.shape[-1]]),
    "rms_norm": lambda x, w, b: F.rms_norm(x, x.shape[-1:], w[: x.shape[-1]]),
    "group_norm": lambda x, w, b: F.group_norm(x, 4, w, b),
    "group_norm of single elements": lambda x, w, b: F.group_norm(x[..., 0, 0], 4, w, b),
    "instance_norm": lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
    "batch_norm": lambda x, w, b: F.batch_norm(x, b, w.abs(), w, b),
}


@pytest.mark.parametrize("bad", ["weight", "bias"])
@pytest.mark.parametrize("name", NORMS)
def test_parameters_that_are_not_finite(name: str, bad: str, tmp_path: Any) -> None:
    """NaN and infinities come out where eager has them. Without a proof, which would leave the operator to PyTorch."""
    parameters = {key: torch.rand(16, device="cuda") + 0.5 for key in ("weight", "bias")}
    parameters[bad][:3] = torch.tensor([torch.inf, -torch.inf, torch.nan])
    args = (torch.randn(3, 16, 8, 16, device="cuda"), *parameters.values())
    optimized = cudaagent.optimize(
        lambda *args: NORMS[name](*args), cache_dir=str(tmp_path), verify=False, measure=False
    )
    with torch.no_grad():
        torch.testing.assert_close(optimized(*args), NORMS[name](*args), equal_nan=True, rtol=1e-4, atol=1e-4)
    assert any(region["kind"] == "generated" for region in cudaagent.explain(optimized).regions())
