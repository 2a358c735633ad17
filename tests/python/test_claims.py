"""What is proved: no kernel is installed on a claim that has no outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import torch_cudaagent as cudaagent


def regions(function: Callable[..., Any], *args: torch.Tensor, **options: Any) -> list[dict[str, Any]]:
    optimized = cudaagent.optimize(function, **options)
    with torch.no_grad():
        got, expected = optimized(*args), function(*args)
    torch.testing.assert_close(got, expected)
    return cudaagent.explain(optimized).regions()


@pytest.mark.parametrize("measure", [False, True])
def test_a_decomposition_that_ends_in_a_reshape_is_proved(tmp_path: Any, measure: bool) -> None:
    found = regions(lambda x: F.group_norm(x, 4), torch.randn(4, 16, 8, 8), cache_dir=str(tmp_path), measure=measure)
    made = [region for region in found if region["kind"] == "generated"]
    if made:  # with measure=True eager may have been faster on this machine
        assert all(len(region["verdict"]["families"]) == 8 for region in made)
        assert max(family["eager"][0] for region in made for family in region["verdict"]["families"]) > 0
    else:
        assert measure


def test_a_loss_over_two_kernels_is_proved_as_one(tmp_path: Any) -> None:
    target = torch.randint(0, 50, (64,))
    found = regions(lambda x: F.cross_entropy(x, target), torch.randn(64, 50), cache_dir=str(tmp_path), measure=False)
    made = [region for region in found if region["kind"] == "generated"]
    assert made
    assert all(region["verdict"]["families"] for region in made)
