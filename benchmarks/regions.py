"""The twenty memory-bound regions that docs/performance.md reports.

The list and its shapes were committed before any kernel was tuned; it changes only by additions.
Each region has a function of tensors, and two sets of input shapes: one for an H200 (about 0.2 ms and more at copy
speed) and one for a 2-core host (16 to 64 MiB).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor


@dataclass(frozen=True)
class Region:
    """A function and the shapes it is measured at; `int_high` marks a class-index input by position."""

    name: str
    function: Callable[..., Tensor | tuple[Tensor, ...]]
    cuda: tuple[tuple[int, ...], ...]
    host: tuple[tuple[int, ...], ...]
    int_high: dict[int, int] | None = None
    dtype: torch.dtype = torch.float32

    def inputs(self, device: str, seed: int = 0) -> list[Tensor]:
        """Fresh normal inputs on `device`; class indices where the region wants them."""
        shapes = self.host if device == "cpu" else self.cuda
        generator = torch.Generator(device=device).manual_seed(seed)
        made = []
        for position, shape in enumerate(shapes):
            if self.int_high and position in self.int_high:
                high = shapes[0][self.int_high[position]]
                made.append(torch.randint(0, high, shape, generator=generator, device=device))
            else:
                made.append(torch.randn(shape, generator=generator, device=device, dtype=torch.float32).to(self.dtype))
        return made


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def log_softmax(x: Tensor) -> Tensor:
    return torch.log_softmax(x, -1)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, (x.shape[-1],), weight, bias)


def residual_layer_norm(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    total = x + y
    return total, F.layer_norm(total, (x.shape[-1],), weight, bias)


def rms_norm(x: Tensor, weight: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


def gelu(x: Tensor) -> Tensor:
    return F.gelu(x)


def bias_gelu(x: Tensor, bias: Tensor) -> Tensor:
    return F.gelu(x + bias, approximate="tanh")


def residual_chain(x: Tensor, y: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    return F.relu(x * scale + bias) + y


def swiglu(x: Tensor, gate: Tensor) -> Tensor:
    return F.silu(gate) * x


def batch_norm_relu(x: Tensor, mean: Tensor, var: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.relu(F.batch_norm(x, mean, var.abs(), weight, bias, training=False))


def group_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.group_norm(x, 8, weight, bias)


def column_sum(x: Tensor) -> Tensor:
    return x.sum(0)


def full_sum(x: Tensor) -> Tensor:
    return x.sum()


def row_max(x: Tensor) -> tuple[Tensor, ...]:
    return tuple(x.max(-1))


def argmax(x: Tensor) -> Tensor:
    return x.argmax(-1)


def mean_var(x: Tensor) -> tuple[Tensor, ...]:
    return x.mean(-1), x.var(-1)


def cross_entropy(x: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(x, target)


def mse(x: Tensor, y: Tensor) -> Tensor:
    return F.mse_loss(x, y)


def softmax_4096(columns: int, host_rows: int) -> Region:
    return Region(f"softmax 4096x{columns}", softmax, ((4096, columns),), ((host_rows, columns),))


REGIONS: tuple[Region, ...] = (
    Region("softmax 262144x256", softmax, ((65536 * 4, 256),), ((32768, 256),)),
    softmax_4096(8192, 1024),
    softmax_4096(32768, 256),
    softmax_4096(131072, 64),
    Region("log_softmax 8192x50257", log_softmax, ((8192, 50257),), ((128, 50257),)),
    Region(
        "layer_norm 131072x1024", layer_norm, ((65536 * 2, 1024), (1024,), (1024,)), ((8192, 1024), (1024,), (1024,))
    ),
    Region(
        "residual_layer_norm 65536x768",
        residual_layer_norm,
        ((65536, 768), (65536, 768), (768,), (768,)),
        ((8192, 768), (8192, 768), (768,), (768,)),
    ),
    Region(
        "rms_norm 32768x4096 bf16", rms_norm, ((32768, 4096), (4096,)), ((2048, 4096), (4096,)), None, torch.bfloat16
    ),
    Region("gelu 16384x16384", gelu, ((16384, 16384),), ((4096, 2048),)),
    Region(
        "bias_gelu 65536x3072 bf16", bias_gelu, ((65536, 3072), (3072,)), ((4096, 3072), (3072,)), None, torch.bfloat16
    ),
    Region(
        "residual_chain 128x256x56x56",
        residual_chain,
        ((128, 256, 56, 56), (128, 256, 56, 56), (256, 1, 1), (256, 1, 1)),
        ((8, 256, 56, 56), (8, 256, 56, 56), (256, 1, 1), (256, 1, 1)),
    ),
    Region("swiglu 32768x11008 bf16", swiglu, ((32768, 11008),) * 2, ((1024, 11008),) * 2, None, torch.bfloat16),
    Region(
        "batch_norm_relu 256x64x112x112",
        batch_norm_relu,
        ((256, 64, 112, 112), (64,), (64,), (64,), (64,)),
        ((8, 64, 112, 112), (64,), (64,), (64,), (64,)),
    ),
    Region(
        "group_norm 128x64x128x128 g8",
        group_norm,
        ((128, 64, 128, 128), (64,), (64,)),
        ((8, 64, 128, 128), (64,), (64,)),
    ),
    Region("column_sum 65536x4096", column_sum, ((65536, 4096),), ((4096, 4096),)),
    Region("full_sum 2^28", full_sum, ((2**28,),), ((2**24,),)),
    Region("argmax 32768x8192", argmax, ((32768, 8192),), ((2048, 8192),)),
    Region("mean_var 32768x8192", mean_var, ((32768, 8192),), ((2048, 8192),)),
    Region("cross_entropy 8192x50257", cross_entropy, ((8192, 50257), (8192,)), ((256, 50257), (256,)), {1: 1}),
    Region("mse 2^27", mse, ((2**27,), (2**27,)), ((2**23,), (2**23,))),
)
