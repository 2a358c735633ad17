"""Normalisations against eager."""

from __future__ import annotations

import pytest
import torch
from decomposition_cases import WIDE, Case, Gen
from rewriting import Recorder, check, check_call


def nchw(g: Gen, *shape: int) -> torch.Tensor:
    return g.fill(shape or (2, 4, 3, 5), g.dtype)


def channels(g: Gen, n: int = 4, low: float = -2, dtype: torch.dtype | None = None) -> torch.Tensor:
    return g.fill((n,), dtype or g.dtype, low=low)


def last(g: Gen) -> torch.Tensor:
    return nchw(g).contiguous(memory_format=torch.channels_last)


NORMS = [
    Case("aten::layer_norm", lambda g: (nchw(g), [5], channels(g, 5), channels(g, 5), 1e-5)),
    Case("aten::layer_norm", lambda g: (nchw(g), [3, 5], nchw(g, 3, 5), None, 1e-3)),
    Case("aten::layer_norm", lambda g: (last(g), [4, 3, 5])),
    Case("aten::native_layer_norm", lambda g: (nchw(g), [5], channels(g, 5), channels(g, 5), 1e-5)),
    Case("aten::group_norm", lambda g: (nchw(g), 2, channels(g), channels(g), 1e-5)),
    Case("aten::group_norm", lambda g: (nchw(g, 3, 6), 3, None, None)),
    Case("aten::native_group_norm", lambda g: (nchw(g), channels(g), channels(g), 2, 4, 15, 2, 1e-5), WIDE),
    Case("aten::instance_norm", lambda g: (nchw(g), None, None, None, None, True, 0.1, 1e-5, True), WIDE),
    Case("aten::instance_norm", lambda g: (nchw(g), channels(g), channels(g), None, None, True, 0.1, 1e-5, True), WIDE),
    Case("aten::rms_norm", lambda g: (nchw(g), [5], channels(g, 5), 1e-6)),
    Case("aten::rms_norm", lambda g: (nchw(g) * 1e-3, [5])),
    Case("aten::_fused_rms_norm", lambda g: (nchw(g), [5], channels(g, 5), 1e-6), WIDE),
    Case(
        "aten::batch_norm",
        lambda g: (nchw(g), channels(g), channels(g), channels(g), channels(g, low=1), False, 0.1, 1e-5, True),
        loose=4,
    ),
    Case("aten::batch_norm", lambda g: (last(g), None, None, channels(g), channels(g, low=1), False, 0.1, 1e-5, True)),
    Case(
        "aten::batch_norm",
        lambda g: (nchw(g, 6, 4), channels(g), None, channels(g), channels(g, low=1), False, 0.1, 1e-5, True),
    ),
    Case("aten::adaptive_avg_pool2d", lambda g: (nchw(g), [1, 1])),
    Case("aten::adaptive_avg_pool1d", lambda g: (nchw(g, 2, 3, 5), [1])),
]


@pytest.mark.parametrize("case", NORMS, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_norm(case: Case, seed: int) -> None:
    for dtype in case.dtypes:
        check_call(case.op, *case.build(Gen(dtype, seed=seed)), loose=4 * case.loose, **case.kwargs)


def test_half_batch_norm_with_float_parameters() -> None:
    for dtype in (torch.bfloat16, torch.float16):
        g = Gen(dtype)
        f = torch.float32
        parameters = (channels(g, dtype=f), channels(g, dtype=f), channels(g, dtype=f), channels(g, low=1, dtype=f))
        check_call("aten::batch_norm", nchw(g), *parameters, False, 0.1, 1e-5, True)


def test_batch_norm_without_saved_statistics() -> None:
    g = Gen(torch.float32)
    recorder = Recorder()
    parameters = (channels(g), channels(g), channels(g), channels(g, low=1))
    out, _, _ = recorder.call("aten::_native_batch_norm_legit_no_training", nchw(g), *parameters, 0.1, 1e-5)
    recorder.document["nodes"][0]["outputs"][1:] = [None, None]
    recorder.output(out)
    check(recorder)


def test_batch_norm_in_training_stays_extern() -> None:
    g = Gen(torch.float32)
    batch = (nchw(g), channels(g), channels(g), None, None, True, 0.1, 1e-5, True)
    reply = check_call("aten::batch_norm", *batch, extern=True)
    assert reply["left"] == [[0, "batch statistics in training"]]


@pytest.mark.parametrize("case", NORMS, ids=str)
def test_parameters_that_are_not_finite(case: Case) -> None:
    """NaN and infinities come out where eager has them, whichever parameter holds them."""
    for dtype in case.dtypes:
        for k in range(len(case.build(Gen(dtype)))):
            arguments = case.build(Gen(dtype, seed=k))
            if k and isinstance(arguments[k], torch.Tensor):
                arguments[k].view(-1)[:3] = torch.tensor([torch.inf, -torch.inf, torch.nan])
                check_call(case.op, *arguments, loose=4 * case.loose, **case.kwargs)
