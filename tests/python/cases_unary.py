"""Elementwise functions of one tensor."""

from __future__ import annotations

import torch
from decomposition_cases import ALL, BOOL, FLOATS, INTS, WIDE, Case, one, scalar


def unary() -> list[Case]:
    floats = (
        "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sigmoid sin cos tan asin acos atan sinh cosh tanh "
        "asinh acosh atanh erf erfc erfinv lgamma digamma i0 deg2rad rad2deg sinc special_expit special_erf arcsin "
        "arctanh special_entr special_ndtr special_i1 angle logit special_psi special_gammaln square"
    ).split()
    loose = {"digamma": 10, "special_psi": 10, "lgamma": 10, "special_gammaln": 10, "tan": 10, "acosh": 10, "i0": 10}
    same = "neg abs sign floor ceil round trunc signbit isnan isinf isfinite relu sgn positive".split()
    cases = [Case(f"aten::{name}", one, (*FLOATS, torch.int32), loose=loose.get(name, 1)) for name in floats]
    cases += [Case(f"aten::{name}", one, (*FLOATS, torch.int32, torch.int64, torch.int8)) for name in same]
    activations = (
        "relu6 selu silu mish hardsigmoid hardswish log_sigmoid softplus elu celu leaky_relu hardtanh hardshrink "
        "softshrink rrelu frac isposinf isneginf"
    ).split()
    cases += [Case(f"aten::{name}", one) for name in activations]
    cases += [
        Case("aten::bitwise_not", one, (*INTS, *BOOL)),
        Case("aten::logical_not", one, ALL),
        Case("aten::abs", one, (torch.uint8,)),
        Case("aten::sign", one, BOOL),
        Case("aten::isnan", one, BOOL),
        Case("aten::isfinite", one, BOOL),
        # Eager's vectorised CPU gelu gives NaN at infinity, its scalar one infinity.
        *[Case("aten::gelu", one, kwargs={"approximate": how}, special=False) for how in ("none", "tanh")],
        Case("aten::elu", scalar(0.7), kwargs={"scale": 1.3, "input_scale": 0.9}),
        Case("aten::celu", scalar(0.7)),
        Case("aten::leaky_relu", scalar(-0.2)),
        Case("aten::hardtanh", lambda g: (g.t(), -0.5, 2.0)),
        Case("aten::hardtanh", lambda g: (g.t(), -1, 2), INTS[:3]),
        Case("aten::relu6", one, (torch.int32,)),
        Case("aten::softplus", lambda g: (g.t(), 2.0, 3.0)),
        Case("aten::softshrink", scalar(1.0)),
        Case("aten::hardshrink", scalar(1.0)),
        Case("aten::threshold", lambda g: (g.t(), 0.5, 2.0)),
        Case("aten::threshold", lambda g: (g.t(), 1, 20), (torch.int32,)),
        Case("aten::nan_to_num", one),
        Case("aten::nan_to_num", one, (torch.int32,)),
        Case("aten::nan_to_num", one, kwargs={"nan": 1.5, "posinf": 7.0, "neginf": -7.0}),
        Case("aten::logit", scalar(0.1)),
        Case("aten::round.decimals", one, kwargs={"decimals": 2}, dtypes=WIDE),
        Case("aten::round.decimals", one, kwargs={"decimals": -1}, dtypes=WIDE),
        Case("aten::mvlgamma", lambda g: (g.t(low=2, high=5), 3), WIDE, special=False),
        Case("aten::polygamma", lambda g: (0, g.positive()), WIDE, special=False),
        Case("aten::pow.Tensor_Scalar", scalar(2.5)),
        *[Case("aten::pow.Tensor_Scalar", scalar(p)) for p in (0, 1, 2, 3, -1, -2, 2.0)],
        # Eager takes the root of a float32, the power of a half: they differ at -inf.
        *[Case("aten::pow.Tensor_Scalar", scalar(p), WIDE) for p in (0.5, -0.5)],
        *[Case("aten::pow.Tensor_Scalar", scalar(p), INTS) for p in (0, 1, 2, 3, 4)],
        Case("aten::pow.Scalar", lambda g: (2.0, g.t())),
        Case("aten::pow.Scalar", lambda g: (1.5, g.t())),
        Case("aten::float_power.Tensor_Scalar", scalar(2), (torch.float32, torch.int32, torch.float16)),
        Case("aten::float_power.Scalar", lambda g: (2, g.t()), (torch.float32, torch.int32)),
    ]
    return cases
