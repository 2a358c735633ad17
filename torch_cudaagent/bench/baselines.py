"""Baselines of an earlier run in place of fresh ones: what makes a daily run of the quick subset short.

They were not measured beside ours, so rows say which they are, and such a run is never published.
"""

from __future__ import annotations

import pathlib

from ..errors import UserError
from .machine import device_name
from .row import BASELINES, Row, counted, read_header, read_rows
from .score import score


class EarlierRun:
    """The times of a finished run on the same kind of device."""

    def __init__(self, folder: pathlib.Path, device: str) -> None:
        header = read_header(folder)
        if header["device"] != device_name(device):
            raise UserError(
                f"The run in {folder} was made on {header['device']}, this is {device_name(device)}; drop --baselines."
            )
        self.name = f"{header['commit']} of {header['date']}"
        self._rows = {(row["problem"], row["mode"]): row for row in counted(read_rows(folder))}

    def complete(self, row: Row) -> None:
        """Adds the times of every baseline that the row has not measured itself, and scores it again."""
        earlier = self._rows.get((row["problem"], row["mode"]))
        times = earlier.get("times", {}) if earlier else {}
        added = [name for name in BASELINES if name in times and name not in row.get("times", {})]
        if not added or "times" not in row:
            return
        row["times"] |= {name: times[name] for name in added}
        row["cached"] = added
        score(row)
