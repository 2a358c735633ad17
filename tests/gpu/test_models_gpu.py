"""The acceptance models on a GPU, every kernel proved there: inside the contract in fp32 and in bf16."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

import torch_cudaagent as cudaagent
from benchmarks.models import MODELS, Model
from torch_cudaagent.bench.outputs import relative_rms, tensors, widened

# What a result of that type can hold, times the depth of a network.
FLOOR = {torch.float32: 1e-6, torch.bfloat16: 4e-3}


@pytest.mark.parametrize("dtype", FLOOR, ids=str)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_model_is_inside_the_contract(model: Model, dtype: torch.dtype, tmp_path: Any) -> None:
    net = model.make("cuda", dtype)
    args = model.inputs("cuda", dtype)
    with torch.no_grad():
        truth = tensors(copy.deepcopy(net).double()(*widened(args)))
        eager = tensors(net(*args))
        optimized = cudaagent.optimize(net, cache_dir=str(tmp_path), measure=False)
        got = tensors(optimized(*args))
    explanation = cudaagent.explain(optimized)
    regions = explanation.regions()
    assert [graph["why_eager"] for graph in explanation.to_dict()["graphs"] if graph["why_eager"]] == []
    generated = [region for region in regions if region["kind"] == "generated"]
    assert generated
    refused = [region["why"] for region in regions if "not proved" in region.get("why", "")]
    assert refused == []
    for mine, theirs, exact in zip(got, eager, truth, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape and mine.stride() == theirs.stride()
        assert relative_rms(mine, exact) <= max(2 * relative_rms(theirs, exact), FLOOR[dtype])
