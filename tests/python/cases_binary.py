"""Elementwise functions of two operands."""

from __future__ import annotations

from typing import Any

import torch
from decomposition_cases import ALL, BOOL, FLOATS, INTS, WIDE, Case, Gen, mixed, nonzero, scalar, two


def seven(g: Gen) -> tuple[Any, ...]:
    return (7, nonzero(g)[1])


def integer_quotients() -> list[Case]:
    """Divisions by integers that may be zero, where eager raises on the CPU."""
    return [
        Case("aten::fmod.Tensor", nonzero, INTS),
        Case("aten::remainder.Tensor", nonzero, INTS),
        Case("aten::remainder.Scalar_Tensor", seven, INTS),
        *[Case("aten::div.Tensor_mode", nonzero, INTS, {"rounding_mode": mode}) for mode in ("trunc", "floor")],
        Case("aten::floor_divide", nonzero, INTS),
    ]


def binary() -> list[Case]:
    scalars = (2, -1, 2.5, True)
    cases = [
        Case("aten::add.Tensor", two, ALL),
        Case("aten::mul.Tensor", two, ALL),
        Case("aten::div.Tensor", two, FLOATS),
        Case("aten::div.Tensor", nonzero, (*INTS, *BOOL)),
        Case("aten::sub.Tensor", two, (*FLOATS, *INTS)),
        *[
            Case(f"aten::{op}.Tensor", mixed, (*FLOATS, *INTS))
            for op in ("add", "mul", "sub", "rsub", "eq", "lt", "ge")
        ],
        Case("aten::add.Tensor", two, FLOATS, kwargs={"alpha": 0.3}),
        Case("aten::add.Tensor", two, INTS, kwargs={"alpha": 2}),
        Case("aten::sub.Tensor", two, FLOATS, kwargs={"alpha": 2}),
        Case("aten::rsub.Scalar", lambda g: (g.t(), 3, 2), (*FLOATS, *INTS)),
        *[Case(f"aten::{op}.Tensor", scalar(s), (*FLOATS, *INTS)) for op in ("add", "mul") for s in scalars],
        *[
            Case(f"aten::{op}.Scalar", scalar(s), (*FLOATS, torch.int32))
            for op in ("add", "sub", "mul", "div")
            for s in (3, 2.5)
        ],
        *[
            Case(f"aten::{op}.{kind}", two if kind == "Tensor" else scalar(1), ALL)
            for op in ("eq", "ne", "lt", "le", "gt", "ge")
            for kind in ("Tensor", "Scalar")
        ],
        Case("aten::eq.Scalar", scalar(0.5), (*FLOATS, torch.int32)),
        *[Case(f"aten::logical_{op}", two, ALL) for op in ("and", "or", "xor")],
        *[Case(f"aten::bitwise_{op}.Tensor", two, (*INTS, *BOOL)) for op in ("and", "or", "xor")],
        *[Case(f"aten::bitwise_{op}.Scalar", scalar(6), INTS) for op in ("and", "or", "xor")],
        *[Case(f"aten::bitwise_{op}.Scalar_Tensor", lambda g: (6, g.t()), INTS) for op in ("and", "or", "xor")],
        *[
            Case(f"aten::bitwise_{side}_shift.Tensor", lambda g: (g.t(), g.b(low=0, high=4)), INTS)
            for side in ("left", "right")
        ],
        *[Case(f"aten::bitwise_{side}_shift.Tensor_Scalar", scalar(2), INTS) for side in ("left", "right")],
        *[
            Case(f"aten::bitwise_{side}_shift.Scalar_Tensor", lambda g: (9, g.t(low=0, high=4)), INTS)
            for side in ("left", "right")
        ],
        *[Case(f"aten::{op}", two, ALL) for op in ("maximum", "minimum", "fmax", "fmin")],
        *[Case(f"aten::{op}.other", mixed, (*FLOATS, *INTS)) for op in ("max", "min")],
        *[Case(f"aten::{op}", two, (*FLOATS, torch.int32)) for op in ("atan2", "copysign.Tensor", "xlogy.Tensor")],
        Case("aten::copysign.Scalar", scalar(-2)),
        Case("aten::xlogy.Scalar_Other", scalar(2.0)),
        Case("aten::xlogy.Scalar_Self", lambda g: (2.0, g.t())),
        Case("aten::special_xlog1py", two),
        Case("aten::special_xlog1py.self_scalar", lambda g: (0.5, g.t())),
        Case("aten::special_xlog1py.other_scalar", scalar(0.5)),
        Case("aten::hypot", two, WIDE),
        Case("aten::nextafter", two, WIDE),
        Case("aten::heaviside", two, (*FLOATS, torch.int32)),
        Case("aten::logaddexp", two),
        Case("aten::logaddexp2", two),
        Case("aten::fmod.Tensor", nonzero),
        Case("aten::remainder.Tensor", nonzero, WIDE),
        Case("aten::fmod.Scalar", scalar(2), (*FLOATS, *INTS)),
        Case("aten::remainder.Scalar", scalar(2), (*FLOATS, *INTS)),
        Case("aten::remainder.Scalar_Tensor", seven, WIDE),
        Case("aten::div.Tensor_mode", nonzero, (*WIDE, *INTS), {"rounding_mode": None}),
        *[Case("aten::div.Tensor_mode", nonzero, WIDE, {"rounding_mode": mode}) for mode in ("trunc", "floor")],
        *[
            Case("aten::div.Scalar_mode", scalar(2), (*WIDE, *INTS), {"rounding_mode": mode})
            for mode in (None, "trunc", "floor")
        ],
        Case("aten::floor_divide", nonzero, WIDE),
        Case("aten::pow.Tensor_Tensor", lambda g: (g.t(), g.b(low=0)), FLOATS),
        Case("aten::pow.Tensor_Tensor", lambda g: (g.t(), g.b(low=0, high=3)), INTS),
        Case("aten::float_power.Tensor_Tensor", two, (torch.float32, torch.int32)),
        Case("aten::true_divide.Tensor", nonzero, (torch.float32, torch.int32)),
        Case("aten::outer", lambda g: (g.layout((3,), g.dtype), g.layout((4,), g.dtype)), (*FLOATS, torch.int32)),
    ]
    return cases
