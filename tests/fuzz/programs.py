"""Random programs of tensor operators, drawn by Hypothesis so that a failing one shrinks by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)

UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "neg": torch.neg,
    "abs": torch.abs,
    "exp": torch.exp,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "sqrt_abs": lambda x: torch.sqrt(torch.abs(x)),
    "square": torch.square,
    "sin": torch.sin,
    "log1p_abs": lambda x: torch.log1p(torch.abs(x)),
    "hardswish": F.hardswish,
    "softplus": F.softplus,
    "floor": torch.floor,
    "rsqrt": lambda x: torch.rsqrt(torch.abs(x) + 1),
    "erf": torch.erf,
    "sign": torch.sign,
    "elu": F.elu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "clamp": lambda x: torch.clamp(x, -1.0, 1.5),
    "nan_to_num": torch.nan_to_num,
}
INT_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "neg": torch.neg,
    "square": torch.square,
    "bitwise_not": torch.bitwise_not,
}
BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "where": lambda a, b: torch.where(a > b, a, b * 2),
    "div_by_one_plus": lambda a, b: a / (1 + torch.abs(b)),
    "lt_select": lambda a, b: (a < b).to(a.dtype),
    "scaled_add": lambda a, b: torch.add(a, b, alpha=2),
}
REDUCE: dict[str, Callable[[Tensor, int, bool], Tensor]] = {
    "sum": lambda x, d, k: x.sum(d, keepdim=k),
    "mean": lambda x, d, k: x.mean(d, keepdim=k),
    "amax": lambda x, d, k: x.amax(d, keepdim=k),
    "amin": lambda x, d, k: x.amin(d, keepdim=k),
    "var": lambda x, d, k: x.var(d, unbiased=False, keepdim=k),
    "logsumexp": lambda x, d, k: torch.logsumexp(x, d, keepdim=k),
}
ROW: dict[str, Callable[[Tensor, int], Tensor]] = {
    "softmax": lambda x, d: torch.softmax(x, d),
    "log_softmax": lambda x, d: torch.log_softmax(x, d),
    "layer_norm": lambda x, d: F.layer_norm(x, x.shape[-1:]),
    "normalize": lambda x, d: F.normalize(x, dim=d),
}
VIEWS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "transpose": lambda x, d: x.transpose(d, -1),
    "flatten": lambda x, d: x.flatten(),
    "unsqueeze": lambda x, d: x.unsqueeze(d),
    "half": lambda x, d: x.narrow(d, 0, (x.shape[d] + 1) // 2),
    "step": lambda x, d: x[..., ::2],
    "flip": lambda x, d: x.flip(d),
    "split_last": lambda x, d: x.reshape(*x.shape[:-1], 2, x.shape[-1] // 2) if x.shape[-1] % 2 == 0 else x,
    "repeat": lambda x, d: x.unsqueeze(0).expand(2, *x.shape),
}
OPAQUE: dict[str, Callable[[Tensor, int], Tensor]] = {
    "cumsum": lambda x, d: x.cumsum(d),
    "cat": lambda x, d: torch.cat([x, x + 1], d),
    "sort": lambda x, d: x.sort(d).values,
}


@dataclass(frozen=True)
class Step:
    """One statement: `table[name]` applied to earlier values (taken modulo how many there are)."""

    kind: str
    name: str
    operands: tuple[int, ...]
    dim: int = 0
    keepdim: bool = False


@dataclass(frozen=True)
class Program:
    """Inputs as (shape, dtype, layout, special values) and statements; every value nobody reads is returned."""

    inputs: tuple[tuple[tuple[int, ...], torch.dtype, str, bool], ...]
    steps: tuple[Step, ...]

    def __call__(self, *given: Tensor) -> tuple[Tensor, ...]:
        values = list(given)
        used: set[int] = set()
        for step in self.steps:
            values.append(self._apply(step, values, used))
        fresh = [v for i, v in enumerate(values) if i >= len(given) and i not in used]
        return tuple(fresh) or (values[-1] * 1,)

    def _apply(self, step: Step, values: list[Tensor], used: set[int]) -> Tensor:
        chosen = [i % len(values) for i in step.operands]
        x = values[chosen[0]]
        dim = step.dim % max(x.dim(), 1)
        used.update(chosen)
        real = x.dtype.is_floating_point
        if step.kind == "unary":
            table = UNARY if real else INT_UNARY
            return table[sorted(table)[sum(map(ord, step.name)) % len(table)]](x) if x.dtype != torch.bool else ~x
        if step.kind == "binary":
            y = values[chosen[1]]
            try:
                torch.broadcast_shapes(x.shape, y.shape)
            except RuntimeError:
                y = y.reshape(-1)[:1] if y.numel() else torch.ones((), dtype=y.dtype)
            return BINARY[step.name](x, y.to(x.dtype))
        if step.kind == "cast":
            return x.to(FLOATS[step.dim % len(FLOATS)])
        if x.dim() == 0 or x.numel() == 0 or x.dtype == torch.bool:
            return x.clone()
        if step.kind == "view":
            return VIEWS[step.name](x, dim)
        if not real:
            return x.sum(dim, keepdim=step.keepdim)
        if step.kind == "reduce":
            return REDUCE[step.name](x, dim, step.keepdim)
        return (ROW if step.kind == "row" else OPAQUE)[step.name](x, dim)

    def make_inputs(self, seed: int) -> list[Tensor]:
        generator = torch.Generator().manual_seed(seed)
        return [make_input(*spec, generator) for spec in self.inputs]


def make_input(
    shape: tuple[int, ...], dtype: torch.dtype, layout: str, special: bool, generator: torch.Generator
) -> Tensor:
    """Normal floats or small integers; "transposed", "offset" and "strided" are views of larger tensors."""

    def fresh(dims: tuple[int, ...]) -> Tensor:
        if dtype.is_floating_point:
            return torch.randn(dims, generator=generator).to(dtype)
        return torch.randint(0, 9, dims, generator=generator).to(dtype)

    if layout == "transposed" and len(shape) >= 2:
        x = fresh((*shape[:-2], shape[-1], shape[-2])).transpose(-1, -2)
    elif layout == "offset":
        x = fresh((sum(1 for _ in shape) + torch.Size(shape).numel(),))[len(shape) :].reshape(shape)
    elif layout == "strided" and shape:
        x = fresh((*shape[:-1], 2 * shape[-1]))[..., ::2]
    else:
        x = fresh(shape)
    if special and dtype.is_floating_point and x.numel() > 3:
        for position, value in enumerate((float("nan"), float("inf"), float("-inf"), -0.0)):
            x.select(0, position % x.shape[0]).fill_(value) if x.dim() == 1 else x[0].reshape(-1)[
                position : position + 1
            ].fill_(value)
    return x


@st.composite
def programs(draw: Any, most_steps: int = 8) -> Program:
    dims = st.lists(st.sampled_from((1, 2, 3, 4, 6, 7, 8, 16, 17, 33)), min_size=1, max_size=4)
    base = tuple(draw(dims))
    shapes = st.one_of(
        st.just(base), st.just(base[-1:]), st.just(tuple(1 if i % 2 else n for i, n in enumerate(base))), st.just(())
    )
    dtype = st.sampled_from((torch.float32,) * 5 + FLOATS + INTEGERS)
    layout = st.sampled_from(("dense", "dense", "transposed", "offset", "strided"))
    inputs = draw(st.lists(st.tuples(shapes, dtype, layout, st.booleans()), min_size=1, max_size=3))
    which = st.integers(0, 15)
    step = st.one_of(
        st.builds(Step, st.just("unary"), st.sampled_from(sorted(UNARY)), st.tuples(which)),
        st.builds(Step, st.just("binary"), st.sampled_from(sorted(BINARY)), st.tuples(which, which)),
        st.builds(
            Step, st.just("reduce"), st.sampled_from(sorted(REDUCE)), st.tuples(which), st.integers(0, 3), st.booleans()
        ),
        st.builds(Step, st.just("row"), st.sampled_from(sorted(ROW)), st.tuples(which), st.integers(0, 3)),
        st.builds(Step, st.just("view"), st.sampled_from(sorted(VIEWS)), st.tuples(which), st.integers(0, 3)),
        st.builds(Step, st.just("opaque"), st.sampled_from(sorted(OPAQUE)), st.tuples(which), st.integers(0, 3)),
        st.builds(Step, st.just("cast"), st.just("to"), st.tuples(which), st.integers(0, 3)),
    )
    return Program(tuple(inputs), tuple(draw(st.lists(step, min_size=1, max_size=most_steps))))
