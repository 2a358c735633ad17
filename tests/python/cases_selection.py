"""Selection, three operands, and pointwise gradients."""

from __future__ import annotations

import torch
from decomposition_cases import ALL, FLOATS, INTS, WIDE, Case, Gen, inf, scalar, two


def mask(g: Gen) -> torch.Tensor:
    return g.b(torch.bool)


def selection() -> list[Case]:
    both = (*FLOATS, torch.int32)
    return [
        Case("aten::where.self", lambda g: (mask(g), g.t(), g.b()), ALL),
        Case("aten::where.self", lambda g: (mask(g), g.t(), g.other()), both),
        Case("aten::where.ScalarSelf", lambda g: (mask(g), 2, g.t()), both),
        Case("aten::where.ScalarOther", lambda g: (mask(g), g.t(), 2.0), both),
        Case("aten::where.Scalar", lambda g: (mask(g), 2, 3), (torch.float32,)),
        Case("aten::where.Scalar", lambda g: (mask(g), 2.0, 3), (torch.float32,)),
        Case("aten::masked_fill.Scalar", lambda g: (g.t(), mask(g), -inf)),
        Case("aten::masked_fill.Scalar", lambda g: (g.b(), g.t() > 0, 2), (*FLOATS, *INTS)),
        Case("aten::masked_fill.Tensor", lambda g: (g.t(), mask(g), torch.tensor(2.5))),
        Case("aten::clamp", lambda g: (g.t(), -1, 1.5), FLOATS),
        Case("aten::clamp", lambda g: (g.t(), -1, 2), INTS[:3]),
        Case("aten::clamp", lambda g: (g.t(), 0.5), (torch.int32, torch.float16)),
        Case("aten::clamp", lambda g: (g.t(), None, 1)),
        Case("aten::clamp", lambda g: (g.t(), 2.0, -2.0)),
        Case("aten::clamp.Tensor", lambda g: (g.t(), g.b(), g.b()), (*FLOATS, torch.int32)),
        Case("aten::clamp.Tensor", lambda g: (g.t(), None, g.b())),
        Case("aten::clamp_min", scalar(0.5)),
        Case("aten::clamp_min.Tensor", two, (*FLOATS, torch.int32)),
        Case("aten::clamp_max", scalar(0.5)),
        Case("aten::clamp_max.Tensor", two, (*FLOATS, torch.int32)),
        Case("aten::clip", lambda g: (g.t(), -1.0, 1.0)),
        Case("aten::clip.Tensor", lambda g: (g.t(), g.b(), g.b())),
        Case("aten::fill.Scalar", scalar(2), ALL),
        Case("aten::fill.Tensor", lambda g: (g.t(), torch.tensor(2.5)), ALL),
        Case("aten::copy", lambda g: (g.t(), g.fill(g.shape[-1:], torch.float32)), both, special=False),
        Case("aten::addcmul", lambda g: (g.t(), g.b(), g.b()), both),
        Case("aten::addcmul", lambda g: (g.t(), g.b(), g.b()), FLOATS, kwargs={"value": 0.5}),
        Case("aten::addcdiv", lambda g: (g.t(), g.b(), g.b()), FLOATS, kwargs={"value": 0.5}),
        *[Case("aten::lerp.Scalar", lambda g, w=w: (g.t(), g.b(), w)) for w in (0.3, 0.5, 0.9)],
        Case("aten::lerp.Tensor", lambda g: (g.t(), g.b(), g.b())),
    ]


def backward() -> list[Case]:
    return [
        Case("aten::sigmoid_backward", two),
        Case("aten::tanh_backward", two),
        Case("aten::silu_backward", lambda g: (g.t(), g.t())),
        Case("aten::gelu_backward", lambda g: (g.t(), g.t()), special=False),
        Case("aten::gelu_backward", lambda g: (g.t(), g.t()), kwargs={"approximate": "tanh"}, special=False),
        Case("aten::threshold_backward", lambda g: (g.t(), g.t(), 0.5)),
        Case("aten::logit_backward", lambda g: (g.t(), g.t(low=0.1, high=0.9), 0.2), WIDE),
        Case("aten::logit_backward", lambda g: (g.t(), g.t(low=-0.1, high=1.1)), WIDE),
        Case("aten::native_dropout_backward", lambda g: (g.t(), g.fill(g.shape, torch.bool), 2.0)),
    ]
