"""What explain() says of ours, as a row keeps it."""

from __future__ import annotations

from .. import api
from .row import Region
from .variants import Run

_SOURCE_LIMIT = 40_000  # characters of a kernel's source kept in a row


def regions(run: Run) -> list[Region]:
    """What explain() says of ours, with text for what a report shows."""
    found: list[Region] = []
    for region in api.explain(run).regions():
        verdict = region.get("verdict", {})
        source = region.get("source", "")
        text = source.get("text", "") if isinstance(source, dict) else str(source)
        entry: Region = {
            "kind": region["kind"],
            "nodes": list(region["nodes"]),
            "kernel": region.get("name", ""),
            "source": text[:_SOURCE_LIMIT],
            "verdict": verdict.get("status", ""),
            "why": region.get("why", ""),
        }
        if verdict.get("eager_us") and verdict.get("kernel_us"):
            entry |= {"before_ms": verdict["eager_us"] / 1e3, "after_ms": verdict["kernel_us"] / 1e3}
        found.append(entry)
    return found
