"""The ways a problem is run: eager, torch.compile's modes, the model in half precision, ours."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from .. import api

Run = Callable[..., Any]


class Half(nn.Module):
    """The model in half precision and channels_last behind the problem's own interface: casts are part of its price."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = _channels_last(model.half())

    def forward(self, *args: Any) -> Any:
        return _each(self.model(*(_each(x, _to_half) for x in args)), _to_float)


def _channels_last(model: nn.Module) -> nn.Module:
    ranks = {parameter.dim() for parameter in model.parameters()}
    if 4 in ranks:
        model = model.to(memory_format=torch.channels_last)
    return model.to(memory_format=torch.channels_last_3d) if 5 in ranks else model


def _to_half(x: torch.Tensor) -> torch.Tensor:
    if not x.is_floating_point():
        return x
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return x.to(torch.float16, memory_format=formats.get(x.dim(), torch.preserve_format))


def _to_float(x: torch.Tensor) -> torch.Tensor:
    return x.float() if x.dtype == torch.float16 else x


def _each(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, tuple | list):
        return type(value)(_each(x, change) for x in value)
    return {k: _each(x, change) for k, x in value.items()} if isinstance(value, dict) else value


def build(variant: str, model: nn.Module, cache_dir: str, measure: bool, options: dict[str, Any]) -> Run:
    """`model` is the variant's own. Ours takes the `options` of cudaagent.optimize and keeps its kernels in
    `cache_dir`; `measure` lets it time them on the device."""
    if variant in ("eager", "eager_tf32"):
        return model
    if variant == "half":
        return _run(torch.compile(Half(model)))
    if variant in ("ours", "ours_frozen"):
        frozen = variant == "ours_frozen"
        return _run(api.optimize(model, **options, cache_dir=cache_dir, measure=measure, freeze=frozen))
    return _run(torch.compile(model, mode=variant))


def _run(model: Any) -> Run:
    run: Run = model
    return run


def share_state(model: nn.Module, base: nn.Module) -> nn.Module:
    """`model` with the parameters and buffers of `base` in place of its own, so that variants hold them once."""
    model.load_state_dict(base.state_dict(keep_vars=True), assign=True, strict=False)
    return model


@contextlib.contextmanager
def flags_of(variant: str) -> Iterator[None]:
    """The user's own flags, but TF32 everywhere for "eager_tf32" and nowhere for "eager_fp32"."""
    if variant not in ("eager_tf32", "eager_fp32"):
        yield
        return
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = variant == "eager_tf32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before
