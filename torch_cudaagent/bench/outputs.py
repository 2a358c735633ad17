"""What comparing two results of a model needs: its tensors, wider inputs, relative errors."""

from __future__ import annotations

import math
from typing import Any

import torch


def tensors(output: Any) -> list[torch.Tensor]:
    """Every tensor of a model's output, in order."""
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, dict):
        output = tuple(output.values())
    return [t for item in output for t in tensors(item)] if isinstance(output, tuple | list) else []


def widened(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with every floating tensor in double precision."""
    return tuple(x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in args)


def relative_rms(got: torch.Tensor, truth: torch.Tensor) -> float:
    """RMS of the difference over the RMS of `truth`; infinite where it is not a number."""
    scale = truth.double().pow(2).mean().sqrt().clamp_min(1e-300)
    error = ((got.double() - truth.double()).pow(2).mean().sqrt() / scale).item()
    return math.inf if math.isnan(error) else error


def worst_relative_rms(got: Any, truth: Any) -> float:
    """The largest relative RMS error over the tensors of two outputs."""
    return max((relative_rms(a, b) for a, b in zip(tensors(got), tensors(truth), strict=True)), default=0.0)
