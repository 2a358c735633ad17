from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn

import torch_cudaagent as cudaagent


def error_of(call: Callable[[], object]) -> tuple[type, str]:
    with pytest.raises(Exception) as caught, torch.no_grad():
        call()
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("compiled_before", [False, True])
@pytest.mark.parametrize(
    "wrong", [torch.ones(2, 7), torch.ones(()), torch.ones(2, 8, dtype=torch.int64), "text", None], ids=str
)
def test_eagers_own_error_passes_through(wrong: object, compiled_before: bool) -> None:
    torch._dynamo.reset()
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU())
    optimized = cudaagent.optimize(copy.deepcopy(model), measure=False)
    right = torch.ones(2, 8)
    with torch.no_grad():
        if compiled_before:
            optimized(right)
    assert error_of(lambda: optimized(wrong)) == error_of(lambda: model(wrong))
    with torch.no_grad():
        assert torch.allclose(optimized(right), model(right), rtol=1e-5, atol=1e-6)


def test_shapes_that_do_not_broadcast() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + y)

    x, y = torch.ones(3, 4), torch.ones(5)
    assert error_of(lambda: cudaagent.optimize(function, measure=False)(x, y)) == error_of(lambda: function(x, y))
