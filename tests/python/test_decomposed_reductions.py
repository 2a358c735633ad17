"""Reductions and what is built on them, against eager."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from decomposition_cases import ALL, BOOL, FLOATS, INTS, SHAPES, WIDE, Case, Gen, drawn, inf, one
from hypothesis import given
from hypothesis import strategies as st
from rewriting import check_call

REDUCTIONS = [
    Case("aten::sum", one, ALL),
    Case("aten::mean", one),
    Case("aten::prod", one, (*WIDE, *INTS, *BOOL)),
    Case("aten::nansum", one),
    Case("aten::max", one, ALL),
    Case("aten::min", one, ALL),
    Case("aten::amax", one, ALL),
    Case("aten::amin", one, ALL),
    Case("aten::aminmax", one, (*FLOATS, torch.int32)),
    Case("aten::argmax", one, (*FLOATS, *INTS)),
    Case("aten::argmin", one, (*FLOATS, *INTS)),
    Case("aten::argmax", lambda g: (g.t(), None, True), FLOATS),
    Case("aten::any", one, ALL),
    Case("aten::all", one, ALL),
    Case("aten::count_nonzero", one, ALL),
    Case("aten::var", one),
    Case("aten::std", lambda g: (g.t(), False)),
    Case("aten::norm.Scalar", one),
    *[Case("aten::linalg_vector_norm", lambda g, p=p: (g.t(), p)) for p in (0, 1, 2, 3.5, inf, -inf)],
    Case("aten::logsumexp", lambda g: (g.t(), list(range(len(g.shape))) or [0])),
    Case("aten::frobenius_norm.dim", lambda g: (g.t(), [])),
]


@pytest.mark.parametrize("case", REDUCTIONS, ids=str)
@drawn
@given(shape=SHAPES, seed=st.integers(0, 1 << 20), special=st.booleans())
def test_full_reduction(case: Case, shape: tuple[int, ...], seed: int, special: bool) -> None:
    if math.prod(shape) == 0:
        return
    for dtype in case.dtypes:
        g = Gen(dtype, shape, seed, special and case.special)
        check_call(case.op, *case.build(g), loose=4, **case.kwargs)


DIMS = st.sampled_from([(s, d) for s in [(5,), (3, 4), (2, 3, 4), (1, 5), (4, 1, 3)] for d in range(-len(s), len(s))])

ROWS = [
    Case("aten::sum.dim_IntList", lambda g: (g.t(), [g.dim], g.keep), ALL),
    Case("aten::sum.dim_IntList", lambda g: (g.t(), [g.dim], g.keep), (torch.bfloat16,), {"dtype": torch.float32}),
    Case("aten::sum.dim_IntList", lambda g: (g.t(), None, g.keep)),
    Case("aten::mean.dim", lambda g: (g.t(), [g.dim], g.keep)),
    Case("aten::mean.dim", lambda g: (g.t(), [], g.keep)),
    Case("aten::mean.dim", lambda g: (g.t(), [g.dim], g.keep), INTS, {"dtype": torch.float32}),
    Case("aten::prod.dim_int", lambda g: (g.t(), g.dim, g.keep), (*WIDE, *INTS)),
    Case("aten::amax", lambda g: (g.t(), [g.dim], g.keep), ALL),
    Case("aten::amin", lambda g: (g.t(), list(range(len(g.shape))), g.keep), ALL),
    Case("aten::max.dim", lambda g: (g.t(), g.dim, g.keep), (*FLOATS, torch.int32)),
    Case("aten::min.dim", lambda g: (g.t(), g.dim, g.keep), (*FLOATS, torch.int32)),
    Case("aten::argmax", lambda g: (g.t(), g.dim, g.keep), (*FLOATS, *INTS)),
    Case("aten::argmin", lambda g: (g.t(), g.dim, g.keep), (*FLOATS, *INTS)),
    Case("aten::any.dim", lambda g: (g.t(), g.dim, g.keep), ALL),
    Case("aten::all.dim", lambda g: (g.t(), g.dim, g.keep), ALL),
    Case("aten::any.dims", lambda g: (g.t(), [g.dim], g.keep), ALL),
    Case("aten::aminmax", lambda g: (g.t(),), FLOATS),
    Case("aten::var.dim", lambda g: (g.t(), [g.dim], True, g.keep)),
    *[
        Case(f"aten::{op}.correction", lambda g: (g.t(), [g.dim]), FLOATS, {"correction": c})
        for op in ("var", "std")
        for c in (0, 1)
    ],
    # Eager's running mean turns an infinity into NaN, the mean of aten::mean does not.
    *[
        Case(f"aten::{op}.correction", lambda g: (g.t(), [g.dim]), FLOATS, {"correction": c}, special=False)
        for op in ("var_mean", "std_mean")
        for c in (0, 1)
    ],
    *[Case("aten::linalg_vector_norm", lambda g, p=p: (g.t(), p, [g.dim], g.keep)) for p in (1, 2, inf)],
    Case("aten::norm.ScalarOpt_dim", lambda g: (g.t(), 2, [g.dim], g.keep)),
    Case("aten::norm.ScalarOpt_dim", lambda g: (g.t(), 1, [g.dim], g.keep)),
    Case("aten::softmax.int", lambda g: (g.t(), g.dim)),
    Case("aten::softmax.int", lambda g: (g.t(), g.dim, torch.float32), (torch.bfloat16, torch.float16)),
    Case("aten::_softmax", lambda g: (g.t(), g.dim, False)),
    Case("aten::_safe_softmax", lambda g: (g.t(), g.dim)),
    Case("aten::log_softmax.int", lambda g: (g.t(), g.dim)),
    Case("aten::_log_softmax", lambda g: (g.t(), g.dim, False)),
    Case("aten::logsumexp", lambda g: (g.t(), [g.dim], g.keep)),
    Case("aten::cosine_similarity", lambda g: (g.t(), g.t(), g.dim), special=False),
    Case("aten::pairwise_distance", lambda g: (g.t(), g.t(), 2.0, 1e-6, g.keep), loose=2),
]


@pytest.mark.parametrize("case", ROWS, ids=str)
@drawn
@given(place=DIMS, keep=st.booleans(), seed=st.integers(0, 1 << 20), special=st.booleans())
def test_row_reduction(case: Case, place: tuple[tuple[int, ...], int], keep: bool, seed: int, special: bool) -> None:
    for dtype in case.dtypes:
        g = Gen(dtype, place[0], seed, special and case.special)
        g.dim, g.keep = place[1], keep  # type: ignore[attr-defined]
        check_call(case.op, *case.build(g), loose=4 * case.loose, **case.kwargs)


@pytest.mark.parametrize("op, args", [("sum", ()), ("mean.dim", ([0],)), ("softmax.int", (0,)), ("logsumexp", ([0],))])
def test_reduction_over_nothing_stays_extern(op: str, args: tuple[Any, ...]) -> None:
    reply = check_call(f"aten::{op}", torch.randn(0, 3), *args, extern=True)
    assert reply["left"] == [[0, "a reduction over no elements"]]
