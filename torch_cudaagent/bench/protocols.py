"""The three protocols: is what ours computes right? Each makes a Judgement without its speed, which needs the times."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from .draws import Record, Replay
from .errors import Distance, distance
from .outputs import tensors, widened
from .row import Error, Judgement
from .tasks import Subject
from .variants import Run, flags_of

SEEDS = (101, 102, 103, 104, 105)
SCALES = (0.01, 0.1, 10.0, 100.0)
SEED_TOLERANCE, VERIFIED_TOLERANCE = 1e-2, 1e-3
_BETWEEN = 1e-2  # RMS error over the RMS difference between outputs of different inputs
# The contract's: twice eager's error, and never less than four ulp (csrc/verify/contract.cpp).
_FACTOR, _FLOOR_ULPS = 2.0, 4
_HALF = (torch.float16, torch.bfloat16)

Made = tuple[nn.Module, Run]  # a fresh eager model, and ours, both as built
Make = Callable[[], Made]


def _outcome(run: Run, model: nn.Module | None, args: tuple[Any, ...], seed: int) -> list[torch.Tensor]:
    """What a call returns and, with `model`, the buffers it leaves; no copies, since large problems fill the device."""
    torch.manual_seed(seed)
    returned = tensors(run(*args))
    return [*returned, *model.buffers()] if model is not None else returned


def _unlike(got: list[torch.Tensor], wanted: list[torch.Tensor]) -> str:
    """How two outcomes differ before any number is compared."""
    if len(got) != len(wanted):
        return f"{len(got)} tensors where eager has {len(wanted)}"
    for k, (a, b) in enumerate(zip(got, wanted, strict=True)):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"tensor {k} is {a.dtype} {list(a.shape)}, eager's {b.dtype} {list(b.shape)}"
        if not a.is_floating_point() and not a.is_complex() and not torch.equal(a, b):
            return f"tensor {k} holds other integers than eager's"
    return ""


def _floats(*outcomes: list[torch.Tensor]) -> Iterator[tuple[torch.Tensor, ...]]:
    """Tensors of the same place that hold real numbers; a complex one is seen as pairs."""
    for group in zip(*outcomes, strict=True):
        if group[0].is_complex():
            yield tuple(torch.view_as_real(x) for x in group)
        elif group[0].is_floating_point():
            yield group


def judge_seed(subject: Subject, make: Make) -> Judgement:
    """KernelBench's check, tightened: every element within 1e-2 of eager's on five seeds, and the error at most 1 % of
    what tells the outputs of two inputs apart."""
    eager, ours = make()
    error: Error = {"rms": 0.0, "largest": 0.0, "between_inputs": 0.0}
    why, before = "", None
    for seed in SEEDS:
        wanted = _outcome(eager, None, subject.inputs(seed), seed)
        got = _outcome(ours, None, subject.inputs(seed), seed)
        why = why or _unlike(got, wanted)
        if why:
            break
        for k, (a, b) in enumerate(_floats(got, wanted)):
            found = distance(a, b, SEED_TOLERANCE, SEED_TOLERANCE)
            _keep_worst(error, found)
            if found.unlike or found.outside:
                why = why or f"seed {seed}, tensor {k}: {found.unlike + found.outside} elements beyond 1e-2"
            if before is not None and before[k].shape == b.shape:
                between = distance(before[k], b).absolute_rms
                ratio = found.absolute_rms / between if between > 0 else 0.0
                error["between_inputs"] = max(error["between_inputs"], ratio)
        before = [b for (b,) in _floats(wanted)]
    if not why and error["between_inputs"] > _BETWEEN:
        why = f"the error is {error['between_inputs']:.1%} of the difference between outputs of different inputs"
    return {"passed": not why, "why": why, "error": error}


def _keep_worst(error: Error, found: Distance) -> None:
    error["rms"] = max(error["rms"], found.rms)
    error["largest"] = max(error["largest"], found.max)


def judge_equal(subject: Subject, make: Make) -> Judgement:
    """The contract "highest" on whole models, buffers too: no more than twice eager's error in double precision."""
    eager, ours = make()
    wide = copy.deepcopy(eager).double()
    model = ours if isinstance(ours, nn.Module) else None
    error: Error = {"rms": 0.0, "largest": 0.0, "eager_rms": 0.0, "eager_largest": 0.0}
    why = ""
    for seed in SEEDS[:3]:
        with Record() as record:
            reference = _outcome(eager, eager, subject.inputs(seed), seed)
        got = _outcome(ours, model, subject.inputs(seed), seed)
        with Replay(record.drawn):
            truth = _outcome(wide, wide, widened(subject.inputs(seed)), seed)
        why = why or _unlike(got, reference)
        if why:
            break
        for k, (a, e, t) in enumerate(_floats(got, reference, truth)):
            mine, its = distance(a, t), distance(e, t)
            _keep_worst(error, mine)
            error["eager_rms"] = max(error["eager_rms"], its.rms)
            error["eager_largest"] = max(error["eager_largest"], its.max)
            why = why or _beyond_contract(mine, its, distance(a, e).unlike, a.dtype, f"seed {seed}, tensor {k}")
    return {"passed": not why, "why": why, "error": error}


def _beyond_contract(mine: Distance, its: Distance, unlike: int, dtype: torch.dtype, where: str) -> str:
    if unlike:
        return f"{where}: NaN or infinity differs from eager's in {unlike} elements"
    floor = (1 if dtype in _HALF else _FLOOR_ULPS) * torch.finfo(dtype).eps
    for name, got, eager in (
        ("RMS", mine.rms, its.rms),
        ("largest", mine.max, its.max),
        ("worst row's", mine.row, its.row),
    ):
        if got > max(_FACTOR * eager, floor):
            return f"{where}: {name} error {got:.2e}, eager's {eager:.2e}"
    return ""


def judge_verified(subject: Subject, make: Make) -> Judgement:
    """In the spirit of KernelBench-Verified: inputs at four scales, against eager without TF32; every element within
    1e-3 of itself plus 1e-3 of its tensor's RMS. `eager_largest` says how far eager with TF32 is."""
    error: Error = {"rms": 0.0, "largest": 0.0, "eager_rms": 0.0, "eager_largest": 0.0}
    why = ""
    for seed, scale in zip(SEEDS, SCALES, strict=False):
        eager, ours = make()
        plain, quick = copy.deepcopy(eager), copy.deepcopy(eager)
        with flags_of("eager_fp32"):
            wanted = _outcome(plain, None, scaled(subject.inputs(seed), scale), seed)
        got = _outcome(ours, None, scaled(subject.inputs(seed), scale), seed)
        with flags_of("eager_tf32"):
            tf32 = _outcome(quick, None, scaled(subject.inputs(seed), scale), seed)
        why = why or _unlike(got, wanted)
        if why:
            break
        for k, (a, w, t) in enumerate(_floats(got, wanted, tf32)):
            size = distance(w, w).scale
            found = distance(a, w, VERIFIED_TOLERANCE, VERIFIED_TOLERANCE * size)
            its = distance(t, w)
            _keep_worst(error, found)
            error["eager_rms"] = max(error["eager_rms"], its.rms)
            error["eager_largest"] = max(error["eager_largest"], its.max)
            if found.unlike or found.outside:
                count = found.unlike + found.outside
                why = why or f"inputs times {scale:g}, tensor {k}: {count} elements beyond 1e-3"
    return {"passed": not why, "why": why, "error": error}


def scaled(args: tuple[Any, ...], scale: float) -> tuple[Any, ...]:
    return tuple(x * scale if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in args)


def is_constant(subject: Subject, make: Make) -> bool:
    """Whether eager's output is the same for different inputs (and the same random draws)."""
    eager, _ = make()
    other = copy.deepcopy(eager)
    first = _outcome(eager, None, subject.inputs(SEEDS[0]), SEEDS[0])
    second = _outcome(other, None, subject.inputs(SEEDS[1]), SEEDS[0])
    pairs = zip(first, second, strict=True)
    return all(a.shape == b.shape and bool(a.eq(b).logical_or(a.ne(a) & b.ne(b)).all()) for a, b in pairs)


JUDGES: dict[str, Callable[[Subject, Make], Judgement]] = {
    "seed": judge_seed,
    "equal": judge_equal,
    "verified": judge_verified,
}


def finite(error: Error) -> Error:
    """JSON has no infinity: a figure that is not finite is left out."""
    kept: Any = {name: value for name, value in error.items() if isinstance(value, float) and math.isfinite(value)}
    result: Error = kept
    return result
