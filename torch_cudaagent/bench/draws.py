"""Random numbers of one run, drawn once and fed to another in a wider type: what double precision's truth needs.

Eager draws other numbers for a double than for a float, so a model with dropout has no truth of its own. `Record`
keeps what each operator that draws returned; `Replay` hands the same out again, in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_DROPOUT = torch.ops.aten.native_dropout.default
# Operators whose result is what was drawn.
_DRAWING = frozenset(
    "native_dropout bernoulli bernoulli_ rand randn randint rand_like randn_like randint_like randperm normal normal_ "
    "normal_functional uniform uniform_ random random_ exponential exponential_ log_normal_ geometric_ cauchy_ "
    "multinomial poisson".split()
)


class CannotReplay(Exception):
    """An operator draws numbers that it does not return."""


def _draws(function: Any, args: Any, kwargs: Any) -> bool:
    if torch.Tag.nondeterministic_seeded not in function.tags:
        return False
    if function.overloadpacket.__name__ in _DRAWING:
        return True
    names = [argument.name for argument in function._schema.arguments]
    given = dict(zip(names, args, strict=False)) | kwargs
    if given.get("dropout_p", 0.0) == 0.0 and given.get("dropout", 0.0) == 0.0:  # attention, recurrent layers
        return False
    raise CannotReplay(f"{function} draws numbers that cannot be fed to a run in double precision")


def _is_inplace(function: Any) -> bool:
    return bool(function._schema.is_mutable)


class Record(TorchDispatchMode):
    """Keeps results of operators that draw; of dropout, the mask."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[torch.Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if _draws(func, args, kwargs):
            self.drawn.append(result[1] if func is _DROPOUT else result.clone())
        return result


class Replay(TorchDispatchMode):
    """Gives what was drawn in place of drawing."""

    def __init__(self, drawn: list[torch.Tensor]) -> None:
        super().__init__()
        self._next: Callable[[], torch.Tensor] = iter(drawn).__next__

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not _draws(func, args, kwargs):
            return func(*args, **kwargs)
        drawn = self._next()
        if func is _DROPOUT:
            x, p = args[0], args[1]
            return x * drawn * (0.0 if p == 1 else 1 / (1 - p)), drawn
        if _is_inplace(func):
            return args[0].copy_(drawn)
        return drawn.double() if drawn.is_floating_point() else drawn.clone()
