"""Losses against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from decomposition_cases import FLOATS, WIDE, Case, Gen
from rewriting import Recorder, check, check_call


def channels(g: Gen, n: int, low: float) -> torch.Tensor:
    return g.fill((n,), g.dtype, low=low)


def pair(g: Gen) -> tuple[torch.Tensor, torch.Tensor]:
    return g.t(), g.t()


def unit_pair(g: Gen) -> tuple[torch.Tensor, torch.Tensor]:
    return g.t(low=0.05, high=0.95), g.t(low=0, high=1)


def signs(g: Gen) -> torch.Tensor:
    return g.fill(g.shape, torch.bool).to(g.dtype) * 2 - 1


LOSSES = [
    Case("aten::mse_loss", pair),
    Case("aten::l1_loss", pair),
    Case("aten::smooth_l1_loss", pair),
    Case("aten::smooth_l1_loss", pair, kwargs={"beta": 0.4}),
    Case("aten::huber_loss", pair, kwargs={"delta": 0.7}),
    Case("aten::kl_div", unit_pair),
    Case("aten::kl_div", unit_pair, kwargs={"log_target": True}),
    Case("aten::binary_cross_entropy", unit_pair, WIDE),
    Case("aten::binary_cross_entropy", lambda g: (*unit_pair(g), g.t(low=0)), WIDE),
    Case("aten::binary_cross_entropy_with_logits", unit_pair),
    Case("aten::binary_cross_entropy_with_logits", lambda g: (*unit_pair(g), g.t(low=0), g.t(low=0))),
    Case("aten::soft_margin_loss", lambda g: (g.t(), signs(g))),
    Case("aten::hinge_embedding_loss", lambda g: (g.t(), signs(g), 0.8)),
    Case("aten::margin_ranking_loss", lambda g: (g.t(), g.t(), signs(g), 0.3)),
]


@pytest.mark.parametrize("case", LOSSES, ids=str)
@pytest.mark.parametrize("reduction", range(3))
def test_loss(case: Case, reduction: int) -> None:
    for dtype in case.dtypes:
        for shape in ((3, 4), (7,), ()):
            args = case.build(Gen(dtype, shape, seed=reduction))
            check_call(case.op, *args, loose=8, reduction=reduction, **case.kwargs)


def test_cross_entropy_of_a_certain_wrong_answer() -> None:
    x, y = torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([0.0, 0.0, 1.0, 1.0])
    check_call("aten::binary_cross_entropy", x, y, None, 0)


@pytest.mark.parametrize("reduction", range(3))
def test_vector_losses(reduction: int) -> None:
    for dtype in FLOATS:
        g = Gen(dtype, (5, 6))
        target = torch.tensor([1, -1, 1, -1, 1])
        check_call("aten::cosine_embedding_loss", g.t(), g.t(), target, 0.1, reduction, loose=8)
        for swap in (False, True):
            check_call("aten::triplet_margin_loss", g.t(), g.t(), g.t(), 1.0, 2.0, 1e-6, swap, reduction, loose=8)
        check_call("aten::poisson_nll_loss", g.t(), g.positive(), True, True, 1e-8, reduction, loose=8)
        check_call("aten::poisson_nll_loss", g.positive(), g.positive(), False, False, 1e-8, reduction, loose=8)


CLASS_SHAPES = [((6, 5), (6,)), ((5,), ()), ((2, 5, 3), (2, 3)), ((2, 5, 3, 2), (2, 3, 2))]


@pytest.mark.parametrize("reduction", range(3))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shapes", CLASS_SHAPES, ids=str)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy(reduction: int, weighted: bool, shapes: tuple[Any, Any], smoothing: float) -> None:
    for dtype in FLOATS:
        for ignore in (-100, 2):
            g = Gen(dtype, shapes[0], seed=reduction)
            target = torch.randint(0, 5, shapes[1], generator=g.generator)
            if target.dim() and ignore == -100:
                target[0] = ignore
            weight = channels(g, 5, low=0.1) if weighted else None
            x = g.fill(shapes[0], dtype)
            reply = check_call("aten::cross_entropy_loss", x, target, weight, reduction, ignore, smoothing, loose=4)
            ranges = [value.get("range") for value in reply["graph"]["values"] if value["dtype"] == "int64"]
            assert [0, 5] in ranges
            if smoothing == 0:
                logs = torch.log_softmax(x.float(), 1 if x.dim() > 1 else 0).to(dtype)
                check_call("aten::nll_loss_nd", logs, target, weight, reduction, ignore, loose=4)


@pytest.mark.parametrize("reduction", range(3))
def test_cross_entropy_of_probabilities(reduction: int) -> None:
    for dtype in FLOATS:
        g = Gen(dtype, (6, 5))
        target = torch.softmax(g.t().float(), 1).to(dtype)
        check_call("aten::cross_entropy_loss", g.t(), target, None, reduction, -100, 0.1, loose=4)
        check_call("aten::cross_entropy_loss", g.t(), target, channels(g, 5, low=0.1), reduction, loose=4)


def test_class_loss_ignoring_every_sample_is_nan() -> None:
    check_call("aten::cross_entropy_loss", torch.randn(3, 5), torch.full((3,), -100))


def test_nll_loss_forward() -> None:
    for reduction in (1, 2):
        target = torch.randint(0, 5, (6,))
        check_call("aten::nll_loss_forward", torch.randn(6, 5), target, torch.rand(5), reduction, -100)


def test_range_is_carried_through_views() -> None:
    recorder = Recorder()
    labels = recorder.input(torch.randint(0, 5, (2, 3)))
    shifted = recorder.call("aten::slice.Tensor", labels, 1, 1, 3)
    target = recorder.call("aten::reshape", shifted, [4])
    recorder.output(recorder.call("aten::cross_entropy_loss", torch.randn(4, 5), target))
    graph = check(recorder)["graph"]
    assert graph["values"][graph["inputs"][0]["value"]]["range"] == [0, 5]
