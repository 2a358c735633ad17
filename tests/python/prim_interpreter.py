"""Runs a rewritten graph document through torch, primitive by primitive: the oracle of csrc/ir/prims.h in Python.

What stayed extern goes through json_interpreter, so any rewritten graph runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import json_interpreter
import torch

_UNARY = (
    "neg abs sign exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sigmoid sin cos tan asin acos atan sinh "
    "cosh tanh asinh acosh atanh erf erfc erfinv lgamma digamma i0 floor ceil round trunc signbit isnan isinf"
).split()
_BINARY = "add sub mul div fmod remainder pow atan2 hypot copysign nextafter fmax fmin eq ne lt le gt ge where".split()

MAPS: dict[str, Callable[..., torch.Tensor]] = {
    **{name: getattr(torch, name) for name in _UNARY + _BINARY},
    "i1": torch.special.i1,
    "not": torch.bitwise_not,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
    "shl": torch.bitwise_left_shift,
    "shr": torch.bitwise_right_shift,
    "max": torch.maximum,
    "min": torch.minimum,
    "div_trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "div_floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "fma": lambda x, y, z: x * y + z,
}


def _sum(x: torch.Tensor, dims: list[int], keepdim: bool) -> torch.Tensor:
    return torch.sum(x, dims, keepdim, dtype=x.dtype)


def _prod(x: torch.Tensor, dims: list[int], keepdim: bool) -> torch.Tensor:
    for dim in reversed(dims):
        x = torch.prod(x, dim, keepdim, dtype=x.dtype)
    return x


def _positions(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The first extreme, counted in row-major order of the reduced dims."""

    def call(x: torch.Tensor, dims: list[int], keepdim: bool) -> torch.Tensor:
        kept = [d for d in range(x.dim()) if d not in dims]
        rows = x.permute(*kept, *dims).reshape([x.shape[d] for d in kept] + [-1])
        found = function(rows, -1)
        return found.reshape([1 if d in dims else n for d, n in enumerate(x.shape)]) if keepdim else found

    return call


REDUCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "sum": _sum,
    "prod": _prod,
    "max": torch.amax,
    "min": torch.amin,
    "any": torch.any,
    "all": torch.all,
    "argmax": _positions(torch.argmax),
    "argmin": _positions(torch.argmin),
}


def _map(name: str, operands: list[Any]) -> torch.Tensor:
    first = 1 if name == "where" else 0
    dtype = next(x.dtype for x in operands[first:] if isinstance(x, torch.Tensor))
    return MAPS[name](*[x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=dtype) for x in operands])


def _slice(x: torch.Tensor, dim: int, start: int, step: int, extent: int) -> torch.Tensor:
    index = start + step * torch.arange(extent)
    return torch.index_select(x, dim, index)


def _iota(dims: list[int], dtype: torch.dtype, dim: int, start: Any, step: Any) -> torch.Tensor:
    shape = [1] * len(dims)
    shape[dim] = dims[dim]
    ramp = torch.tensor(start, dtype=dtype) + torch.tensor(step, dtype=dtype) * torch.arange(dims[dim]).to(dtype)
    return ramp.reshape(shape).expand(dims)


def _primitive(name: str, arguments: dict[str, Any], dims: list[int], dtype: torch.dtype) -> torch.Tensor:
    if name in MAPS:
        return _map(name, list(arguments.values()))
    if name == "full":
        return torch.full(dims, arguments["value"], dtype=dtype)
    if name == "iota":
        return _iota(dims, dtype, arguments["dim"], arguments["start"], arguments["step"])
    x = arguments["x"]
    if name == "convert":
        return x.to(dtype, copy=True)
    if name == "reduce":
        return REDUCTIONS[arguments["kind"]](x, arguments["dims"], arguments["keepdim"])
    if name == "permute":
        return x.permute(arguments["dims"])
    if name in ("reshape", "expand"):
        return getattr(x, name)(arguments["shape"])
    if name == "slice":
        return _slice(x, arguments["dim"], arguments["start"], arguments["step"], dims[arguments["dim"]])
    raise AssertionError(f"prim::{name} is not in ir/prims.h")


def run(document: dict[str, Any], inputs: list[torch.Tensor]) -> list[Any]:
    """Outputs in order; every value is checked against the dtype and dims declared for it."""
    described = document["values"]
    values = {entry["value"]: x for entry, x in zip(document["inputs"], inputs, strict=True)}
    for node in document["nodes"]:
        arguments = {name: json_interpreter.decode(argument, values) for name, argument in node["args"]}
        if node["op"].startswith("prim::"):
            said = described[node["outputs"][0]]
            dtype = getattr(torch, said["dtype"])
            results = [_primitive(node["op"].removeprefix("prim::"), arguments, said["dims"], dtype)]
        else:
            results = json_interpreter.flatten(json_interpreter.call(json_interpreter.operator(node["op"]), arguments))
        for identity, result in zip(node["outputs"], results, strict=True):
            if identity is not None:
                json_interpreter.check_value(described[identity], result)
                values[identity] = result
    return json_interpreter.finish(document, values)
