"""Random programs through capture, schedule, code generation and the runtime, against eager and fp64.

CUDAAGENT_FUZZ_EXAMPLES=2000 pytest tests/fuzz        a longer run by hand
"""

from __future__ import annotations

import json
import math
import os
import warnings
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from torch import Tensor, fx

from tests.fuzz.programs import Program, programs
from torch_cudaagent import capture, library, minify
from torch_cudaagent.errors import NotExpressible
from torch_cudaagent.graph_json import InputInfo
from torch_cudaagent.options import make_options

EXAMPLES = int(os.environ.get("CUDAAGENT_FUZZ_EXAMPLES", "60"))


def document_of(program: Program, inputs: list[Tensor]) -> dict[str, Any]:
    class Traced(torch.nn.Module):
        def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
            return program(*given)

    # make_fx, since symbolic tracing cannot see shapes.
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(Traced(), pre_dispatch=True, tracing_mode="real")(*inputs)
    results = program(*inputs)
    aliases = capture.aliases_of(inputs, results)
    facts = capture.Facts([InputInfo() for _ in inputs], False, aliases, [False] * len(results), False, False, False)
    assert isinstance(graph, fx.GraphModule)
    return capture.capture(graph, facts, inputs).graph


def distance(got: Tensor, truth: Tensor) -> float:
    """RMS of the difference over finite elements, relative to the truth's."""
    finite = torch.isfinite(truth) & torch.isfinite(got.double())
    if not finite.any():
        return 0.0
    difference = (got.double() - truth)[finite].pow(2).mean().sqrt().item()
    return difference / max(truth[finite].pow(2).mean().sqrt().item(), 1e-30)


def check(mine: Tensor, theirs: Tensor, truth: Tensor) -> None:
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
    if not theirs.dtype.is_floating_point:
        # A comparison may fall either way where rounding differs; exactness of integers is tested elsewhere.
        assert (mine != theirs).double().mean().item() <= (0.05 if truth.numel() > 20 else 1.0)
        return
    assert torch.equal(torch.isnan(mine), torch.isnan(theirs)), "NaN in other places"
    floor = 16 * torch.finfo(theirs.dtype).eps
    assert distance(mine, truth) <= max(4 * distance(theirs, truth), floor)


def wide(program: Program, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    return tuple(t.double() for t in program(*(x.double() if x.dtype.is_floating_point else x for x in inputs)))


@pytest.mark.timeout(1500)
@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
@given(programs())
def test_random_programs_agree_with_eager(tmp_path_factory: pytest.TempPathFactory, program: Program) -> None:
    inputs = program.make_inputs(7)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            eager = program(*inputs)
            truth = wide(program, inputs)
        except (RuntimeError, IndexError, NotImplementedError):
            assume(False)
        assume(all(math.prod(t.shape) <= 1 << 20 for t in eager))
        try:
            graph = document_of(program, inputs)
        except NotExpressible:
            assume(False)
        library.load()
        cache = tmp_path_factory.getbasetemp() / "fuzz_cache"
        options = make_options({"verify": False, "measure": False, "cache_dir": str(cache)}).to_json()
        ours = minify.compiled(graph, options, inputs)
    assert len(ours) == len(eager), json.dumps(graph)[:2000]
    for mine, theirs, exact in zip(ours, eager, truth, strict=True):
        check(mine, theirs, exact)
