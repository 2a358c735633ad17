"""The least time a device could take for a problem: bytes that must move, operations that must be done."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from .outputs import tensors
from .row import Floor


@dataclasses.dataclass(frozen=True)
class Datasheet:
    """What the maker claims, which no measurement may beat."""

    bandwidth: float  # bytes a second
    tensor_rate: float  # FLOP a second of dense fp16 or bf16 products


# H200 SXM, https://www.nvidia.com/en-us/data-center/h200/
DATASHEETS = {"NVIDIA H200": Datasheet(4.8e12, 989.5e12)}


def _bytes(values: Any) -> int:
    return sum(x.numel() * x.element_size() for x in values if isinstance(x, torch.Tensor))


def count(model: nn.Module, args: tuple[Any, ...]) -> Floor:
    """Bytes of inputs, weights, buffers and outputs, each once; FLOPs of products, convolutions and attention.

    The model and its inputs may lie on the meta device. FLOPs are absent where an operator cannot be counted.
    """
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        outputs = tensors(model(*args))
    moved = _bytes(tensors(list(args))) + _bytes(model.parameters()) + _bytes(model.buffers()) + _bytes(outputs)
    floor: Floor = {"bytes": moved}
    flops = counter.get_total_flops()
    if flops or not any(p.dim() > 1 for p in model.parameters()):
        floor["flops"] = float(flops)
    return floor


def timed(floor: Floor, device: str, ours_ms: float | None) -> Floor:
    """With the least times on that device, where its datasheet is known."""
    sheet = DATASHEETS.get(device)
    result: Floor = {**floor}
    if sheet is None or "bytes" not in floor:
        return result
    result["bytes_ms"] = floor["bytes"] / sheet.bandwidth * 1e3
    if "flops" in floor:
        result["flops_ms"] = floor["flops"] / sheet.tensor_rate * 1e3
    if ours_ms:
        result["fraction"] = max(result["bytes_ms"], result.get("flops_ms", 0.0)) / ours_ms
    return result


def suspicion(floor: Floor, ms: float | None) -> str:
    """Why a time cannot be true, or nothing."""
    least = max(floor.get("bytes_ms", 0.0), floor.get("flops_ms", 0.0))
    return f"{ms:.4f} ms is less than the device's least, {least:.4f} ms" if ms and ms < least else ""
