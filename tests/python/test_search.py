"""The option `search`: candidates are timed, and a winner is proved for every claim that its body serves."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from checks import assert_same
from conftest import PYTHON_CORE

import torch_cudaagent as cudaagent

pytestmark = pytest.mark.skipif(PYTHON_CORE, reason="the native core searches")


def test_every_candidate_is_shown_and_the_result_holds(tmp_path: Any) -> None:
    x = torch.randn(64, 4096)
    optimized = cudaagent.optimize(lambda x: torch.softmax(x, -1), search=6, cache_dir=str(tmp_path), measure=False)
    with torch.no_grad():
        assert_same(optimized(x), torch.softmax(x, -1))
    (region,) = cudaagent.explain(optimized).regions()
    assert region["verdict"]["status"] == "passed"
    tried = region["attempts"]
    assert 2 <= len(tried) <= 6
    assert all(attempt["us"] > 0 and attempt["incumbent_us"] > 0 for attempt in tried if not attempt["rejection"])
    assert len({str(attempt["candidate"]) for attempt in tried}) == len(tried)


def test_two_claims_that_share_a_body_are_both_proved(tmp_path: Any) -> None:
    def by_hand(y: torch.Tensor) -> torch.Tensor:
        return y * 0.5 * (torch.erf(y * (math.sqrt(2) / 2)) + 1)

    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # A product between them, so that they are two regions.
        return F.gelu(x), by_hand(y @ y.T)

    x, y = torch.randn(256, 256), torch.randn(256, 64)
    optimized = cudaagent.optimize(both, search=8, cache_dir=str(tmp_path), measure=False)
    with torch.no_grad():
        for mine, theirs in zip(optimized(x, y), both(x, y), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-6)
    generated = [region for region in cudaagent.explain(optimized).regions() if region["kind"] == "generated"]
    assert len(generated) == 2
    assert all(region["verdict"]["status"] == "passed" for region in generated)


def test_nothing_is_proved_where_that_is_not_asked(tmp_path: Any) -> None:
    optimized = cudaagent.optimize(lambda x: x.sum(0), search=4, verify=False, cache_dir=str(tmp_path))
    with torch.no_grad():
        optimized(torch.randn(512, 300))
    (region,) = cudaagent.explain(optimized).regions()
    assert region["attempts"] and "verdict" not in region
