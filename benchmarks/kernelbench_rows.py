"""One KernelBench problem run for real: ours and eager against double precision, buffers included."""

from __future__ import annotations

import collections
import copy
import pathlib
import statistics
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

import torch_cudaagent as cudaagent
from torch_cudaagent.bench.outputs import tensors, widened
from torch_cudaagent.bench.problems import DoesNotScale, load_problem
from torch_cudaagent.bench.timing import time_cpu

_SEED = 1234
# The contract's: twice eager's error, and never less than four ulp (csrc/verify/contract.cpp).
_FACTOR, _FLOOR_ULPS = 2.0, 4
_RANDOM = (nn.modules.dropout._DropoutNd, nn.RReLU)
_MODAL = (*_RANDOM, nn.modules.batchnorm._NormBase)  # training mode changes what they do


def failure(error: BaseException) -> str:
    """An exception in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def run_problem(
    path: pathlib.Path, mode: str, device: str, cap: int | None, options: dict[str, Any], seconds: float
) -> dict[str, Any]:
    torch.set_default_device(device)
    torch.manual_seed(_SEED)
    problem = load_problem(path, cap)
    try:
        net = problem.make().train(mode == "train")
        args = tuple(problem.get_inputs())
        plain = copy.deepcopy(net)
        with torch.no_grad():
            eager = _outcome(plain, args)
    except Exception as error:
        if cap is None:
            raise
        raise DoesNotScale(failure(error)) from error
    with torch.no_grad():
        # Eager draws other numbers in double precision, so a random model is held against eager itself.
        random = mode == "train" and any(isinstance(part, _RANDOM) for part in net.modules())
        truth = eager if random else _outcome(copy.deepcopy(net).double(), widened(args))
        timed = copy.deepcopy(net)
        optimized = cudaagent.optimize(net, **options)
        row = _judge(_outcome(optimized, args), eager, truth)
        del truth, eager
        samples = time_cpu({"ours": lambda: optimized(*args), "eager": lambda: timed(*args)}, seconds, least=3)
    row |= {f"{name}_ms": statistics.median(times) for name, times in samples.items()}
    coverage = _coverage(optimized)
    if "left" in coverage or not coverage["regions"]:
        row |= {"status": "failed", "why": f"left to PyTorch: {coverage.get('left')}"}
    row["modal"] = any(isinstance(part, _MODAL) for part in net.modules())
    return row | ({"against": "eager"} if random else {}) | coverage


def _outcome(net: nn.Module, args: Sequence[Any]) -> list[torch.Tensor]:
    """What a call returns, and the buffers it leaves behind."""
    torch.manual_seed(_SEED)
    returned = tensors(net(*args))
    return [*returned, *(buffer.clone() for buffer in net.buffers())]


def _judge(ours: list[torch.Tensor], eager: list[torch.Tensor], truth: list[torch.Tensor]) -> dict[str, Any]:
    worst, yardstick, why = 0.0, 0.0, ""
    if len(ours) != len(eager):
        return {"status": "wrong", "why": f"{len(ours)} tensors, eager {len(eager)}"}
    for k, (a, b, t) in enumerate(zip(ours, eager, truth, strict=True)):
        why = why or _unlike(a, b)
        if why or not a.is_floating_point():
            why = why or ("" if torch.equal(a, b) else f"tensor {k}: other integers than eager's")
            continue
        floor = _FLOOR_ULPS * torch.finfo(a.dtype).eps
        for name, mine, its in zip(("RMS", "largest"), _errors(a, t), _errors(b, t), strict=True):
            if mine > _FACTOR * max(its, floor / _FACTOR):
                why = why or f"tensor {k}: {name} error {mine:.2e}, eager {its:.2e}"
            if name == "RMS":
                worst, yardstick = max(worst, mine), max(yardstick, its)
    return {"status": "wrong" if why else "right", "why": why, "error": worst, "eager_error": yardstick}


def _unlike(a: torch.Tensor, b: torch.Tensor) -> str:
    """How two tensors differ before any number is compared."""
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return f"{a.dtype} {list(a.shape)}, eager {b.dtype} {list(b.shape)}"
    if not torch.equal(a.isnan(), b.isnan()) or not torch.equal(a.isinf(), b.isinf()):
        return "NaN or infinity not where eager has them"
    return ""


def _errors(got: torch.Tensor, truth: torch.Tensor) -> tuple[float, float]:
    """Relative RMS and largest error over the finite elements; the latter over the largest element."""
    finite = got.isfinite() & truth.isfinite()
    exact = truth.double().where(finite, 0.0)
    difference = got.double().where(finite, 0.0) - exact
    if not difference.numel():
        return 0.0, 0.0
    rms = difference.pow(2).mean().sqrt() / exact.pow(2).mean().sqrt().clamp_min(1e-300)
    return rms.item(), (difference.abs().max() / exact.abs().max().clamp_min(1e-300)).item()


def _coverage(optimized: nn.Module) -> dict[str, Any]:
    explanation = cudaagent.explain(optimized)
    regions = explanation.regions()
    extern = collections.Counter(op for r in regions if r["kind"] == "external" for op in r["nodes"])
    row: dict[str, Any] = {"regions": dict(collections.Counter(r["kind"] for r in regions)), "extern": dict(extern)}
    left = [graph["why_eager"] for graph in explanation.to_dict()["graphs"] if graph["why_eager"]]
    return row | ({"left": left} if left else {})
