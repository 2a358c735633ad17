"""How far one tensor is from another, by the statistics of the precision contract, in pieces that fit anywhere."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import torch

_PIECE = 1 << 26  # elements compared at a time
_ROW = 8  # fewest elements that count as a row, as csrc/verify/error_sums.cpp has it


@dataclasses.dataclass
class Distance:
    """Sums over the elements that are finite on both sides; the rest must be of one kind."""

    count: int = 0
    squares: float = 0.0  # of the differences
    truth_squares: float = 0.0
    largest: float = 0.0
    truth_largest: float = 0.0
    row_squares: float = 0.0  # worst row's mean square
    outside: int = 0  # elements further apart than the tolerance
    unlike: int = 0  # NaN or infinity on one side, or of another sign

    @property
    def scale(self) -> float:
        """RMS of the truth."""
        return math.sqrt(self.truth_squares / self.count) if self.count else 0.0

    @property
    def absolute_rms(self) -> float:
        return math.sqrt(self.squares / self.count) if self.count else 0.0

    @property
    def rms(self) -> float:
        return _ratio(self.absolute_rms, self.scale)

    @property
    def max(self) -> float:
        """Relative to the largest element of the truth."""
        return _ratio(self.largest, self.truth_largest)

    @property
    def row(self) -> float:
        """The worst row's RMS error over the truth's RMS."""
        return _ratio(math.sqrt(self.row_squares), self.scale)


def _ratio(error: float, scale: float) -> float:
    return error / scale if scale > 0 else (0.0 if error == 0 else math.inf)


def distance(got: torch.Tensor, truth: torch.Tensor, rtol: float = 0.0, atol: float = 0.0) -> Distance:
    """`got` from `truth`, tensors of one shape; an element is outside beyond atol + rtol |truth|."""
    found = Distance()
    row = _row_of(truth)
    for a, b in _pieces(got, truth, row):
        finite = a.isfinite() & b.isfinite()
        found.unlike += int((~finite & (a != b) & ~(a.isnan() & b.isnan())).sum())
        b = b.where(finite, 0.0)
        error = (a.where(finite, 0.0) - b).abs_()
        found.outside += int((error > atol + rtol * b.abs()).sum())
        found.count += int(finite.sum())
        if not error.numel():
            continue
        found.largest = max(found.largest, error.max().item())
        found.truth_largest = max(found.truth_largest, b.abs().max().item())
        found.truth_squares += b.square_().sum().item()
        error.square_()
        found.squares += error.sum().item()
        found.row_squares = max(found.row_squares, error.view(-1, row).mean(1).max().item())
    return found


def _row_of(x: torch.Tensor) -> int:
    row = 1
    for extent in reversed(x.shape):
        if row >= _ROW:
            break
        row *= max(extent, 1)
    return row


def _pieces(got: torch.Tensor, truth: torch.Tensor, row: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Both in double precision, whole rows at a time."""
    a, b = got.reshape(-1), truth.reshape(-1)
    step = max(_PIECE // row, 1) * row
    for begin in range(0, a.numel(), step):
        yield a[begin : begin + step].double(), b[begin : begin + step].double()
