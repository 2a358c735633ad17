"""What the package says about code, options and machines it is given."""

from __future__ import annotations


class UserError(ValueError):
    """The caller can mend it; the message is one sentence that names the remedy."""


class NotExpressible(Exception):
    """A graph holds what the graph document cannot say; it runs in PyTorch and the reason is kept for explain()."""


class Unavailable(Exception):
    """The machine lacks what a graph's kernels need; the message is one sentence that names the remedy."""
