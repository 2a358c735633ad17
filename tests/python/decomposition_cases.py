"""How a decomposition is tested: one operator, and a generator that draws its arguments."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable
from typing import Any

import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
WIDE = (torch.float32, torch.float64)
INTS = (torch.int32, torch.int64, torch.int8, torch.uint8)
BOOL = (torch.bool,)
ALL = FLOATS + INTS + BOOL
inf, nan = math.inf, math.nan

drawn = settings(
    max_examples=6, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
SHAPES = st.sampled_from([(), (1,), (7,), (3, 4), (2, 3, 4), (1, 5), (4, 1, 3), (0, 3), (2, 2, 3, 2)])


@dataclasses.dataclass
class Gen:
    """Draws the arguments of one call."""

    dtype: torch.dtype
    shape: tuple[int, ...] = (3, 4)
    seed: int = 0
    special: bool = False

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.generator = torch.Generator().manual_seed(self.seed)

    def fill(self, shape: tuple[int, ...], dtype: torch.dtype, low: float = -3, high: float = 3) -> torch.Tensor:
        if dtype == torch.bool:
            return torch.rand(shape, generator=self.generator) < 0.5
        x = torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low
        if not dtype.is_floating_point:
            return (x.abs() if dtype == torch.uint8 else x).round().to(dtype)
        if self.special and x.numel():
            values = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 20.5, -100.0], dtype=torch.float64)
            picks = torch.randint(0, len(values), shape, generator=self.generator)
            x = torch.where(torch.rand(shape, generator=self.generator) < 0.4, values[picks], x)
        return x.to(dtype)

    def layout(self, shape: tuple[int, ...], dtype: torch.dtype, **kwargs: Any) -> torch.Tensor:
        x = self.fill(shape, dtype, **kwargs)
        if len(shape) > 1 and self.random.random() < 0.3:
            return self.fill(shape[::-1], dtype, **kwargs).permute(*reversed(range(len(shape))))
        return x

    def t(self, **kwargs: Any) -> torch.Tensor:
        """A tensor of the drawn shape."""
        return self.layout(self.shape, self.dtype, **kwargs)

    def b(self, dtype: torch.dtype | None = None, **kwargs: Any) -> torch.Tensor:
        """A tensor that broadcasts against the drawn shape."""
        shape = list(self.shape)
        cut = self.random.choice([0, 0, 0, 1, len(shape)])
        shape = [1 if n > 1 and self.random.random() < 0.25 else n for n in shape[cut:]]
        return self.layout(tuple(shape), dtype or self.dtype, **kwargs)

    def other(self) -> torch.Tensor:
        """Broadcasts, in a dtype of its own."""
        pool = FLOATS if self.dtype.is_floating_point else (*INTS, torch.float32)
        return self.b(self.random.choice(pool))

    def positive(self) -> torch.Tensor:
        return self.t(low=0.1, high=3)


Build = Callable[[Gen], tuple[Any, ...]]


@dataclasses.dataclass
class Case:
    op: str
    build: Build
    dtypes: tuple[torch.dtype, ...] = FLOATS
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    loose: float = 1
    special: bool = True

    def __str__(self) -> str:
        return self.op + "".join(f"-{k}={v}" for k, v in self.kwargs.items())


def one(g: Gen) -> tuple[Any, ...]:
    return (g.t(),)


def two(g: Gen) -> tuple[Any, ...]:
    return (g.t(), g.b())


def mixed(g: Gen) -> tuple[Any, ...]:
    return (g.t(), g.other())


def nonzero(g: Gen) -> tuple[Any, ...]:
    divisor = g.b()
    return (g.t(), torch.where(divisor == 0, torch.ones_like(divisor), divisor))


def scalar(value: Any) -> Build:
    return lambda g: (g.t(), value)
