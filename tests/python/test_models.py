"""The acceptance models on the host backend: inside the contract, and nothing left behind that a template covers."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import torch

import torch_cudaagent as cudaagent
from benchmarks.models import MODELS, Model
from torch_cudaagent.bench.outputs import relative_rms, tensors, widened

# Operators that are not tagged pointwise and still belong in generated kernels.
COVERED = {
    "softmax",
    "_softmax",
    "log_softmax",
    "_log_softmax",
    "logsumexp",
    "layer_norm",
    "native_layer_norm",
    "group_norm",
    "native_group_norm",
    "batch_norm",
    "_native_batch_norm_legit_no_training",
    "rms_norm",
    "instance_norm",
    "sum",
    "mean",
    "prod",
    "amax",
    "amin",
    "max",
    "min",
    "argmax",
    "argmin",
    "any",
    "all",
    "var",
    "std",
    "var_mean",
    "mse_loss",
    "l1_loss",
    "cross_entropy_loss",
    "nll_loss",
    "dropout",
}


def is_pointwise(op: str) -> bool:
    packet, _, overload = op.removeprefix("aten::").partition(".")
    found = getattr(torch.ops.aten, packet, None)
    target = getattr(found, overload or "default", None)
    return target is not None and torch.Tag.pointwise in target.tags


def exceptions(report: dict[str, Any]) -> list[str]:
    """Captured nodes that stayed with PyTorch although templates should carry them."""
    left = []
    for graph in report["graphs"]:
        assert not graph["why_eager"], graph["why_eager"]
        for region in (region for program in graph["programs"] for region in program["regions"]):
            if region["kind"] != "external":
                continue
            for op in region["nodes"]:
                if is_pointwise(op) or op.removeprefix("aten::").split(".")[0] in COVERED:
                    left.append(f"{op}: {region.get('why')}")
    return left


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_model_is_inside_the_contract(model: Model, tmp_path: Any) -> None:
    net = model.make()
    args = model.inputs("cpu", torch.float32)
    with torch.no_grad():
        truth = tensors(copy.deepcopy(net).double()(*widened(args)))
        eager = tensors(net(*args))
        optimized = cudaagent.optimize(net, cache_dir=str(tmp_path), measure=False)
        got = tensors(optimized(*args))
    report = cudaagent.explain(optimized).to_dict()
    assert exceptions(report) == [], json.dumps(exceptions(report), indent=1)
    assert len(got) == len(eager) == len(truth)
    for mine, theirs, exact in zip(got, eager, truth, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape and mine.stride() == theirs.stride()
        assert relative_rms(mine, exact) <= max(2 * relative_rms(theirs, exact), 1e-6)


def test_the_counter_of_exceptions_counts() -> None:
    region = {"kind": "external", "nodes": ["aten::relu", "aten::linear", "aten::softmax.int"], "why": "a test"}
    found = exceptions({"graphs": [{"why_eager": None, "programs": [{"regions": [region]}]}]})
    assert [line.split(":")[2] for line in found] == ["relu", "softmax.int"]
