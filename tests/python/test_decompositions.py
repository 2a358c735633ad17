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
