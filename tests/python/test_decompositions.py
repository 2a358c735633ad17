"""Pointwise decompositions against eager: over dtypes, shapes, layouts and special values."""

from __future__ import annotations

import cases_binary
import cases_selection
import cases_unary
import pytest
from decomposition_cases import SHAPES, Case, Gen, drawn
from hypothesis import given
from hypothesis import strategies as st
from rewriting import check_call

POINTWISE = cases_unary.unary() + cases_binary.binary() + cases_selection.selection() + cases_selection.backward()


@pytest.mark.parametrize("case", POINTWISE, ids=str)
@drawn
@given(shape=SHAPES, seed=st.integers(0, 1 << 20), special=st.booleans())
def test_pointwise(case: Case, shape: tuple[int, ...], seed: int, special: bool) -> None:
    for dtype in case.dtypes:
        g = Gen(dtype, shape, seed, special and case.special)
        check_call(case.op, *case.build(g), loose=case.loose, **case.kwargs)


@pytest.mark.parametrize("case", cases_binary.integer_quotients(), ids=str)
@drawn
@given(shape=SHAPES, seed=st.integers(0, 1 << 20))
def test_integer_quotients(case: Case, shape: tuple[int, ...], seed: int) -> None:
    """On the CPU, where eager raises if a divisor is zero, they stay with PyTorch; on CUDA they are computed."""
    for dtype in case.dtypes:
        arguments = case.build(Gen(dtype, shape, seed))
        [(_, why)] = check_call(case.op, *arguments, extern=True, **case.kwargs)["left"]
        assert "may be zero" in why
        check_call(case.op, *arguments, device="cuda:0", **case.kwargs)
