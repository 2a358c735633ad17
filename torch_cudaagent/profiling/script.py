"""A script watched while it runs: which outermost modules it calls, how often, how long."""

from __future__ import annotations

import contextlib
import dataclasses
import runpy
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch import nn


@dataclasses.dataclass
class Seen:
    """One module that the script called itself. The arguments are those of its latest call."""

    module: nn.Module
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = dataclasses.field(default_factory=dict)
    calls: int = 0
    seconds: float = 0.0

    def call(self) -> Callable[..., Any]:
        """The module with its keywords; the arguments stay what is given."""
        if not self.keywords:
            return self.module
        module, keywords = self.module, self.keywords

        def called(*arguments: Any) -> Any:
            return module(*arguments, **keywords)

        called.__name__ = type(module).__name__
        return called


@contextlib.contextmanager
def watch() -> Iterator[dict[int, Seen]]:
    """Notes calls of modules that no other module makes; by id of the module."""
    seen: dict[int, Seen] = {}
    state = threading.local()
    original = nn.Module.__call__

    def noted(self: nn.Module, *arguments: Any, **keywords: Any) -> Any:
        if getattr(state, "inside", False):
            return original(self, *arguments, **keywords)
        state.inside, begin = True, time.perf_counter()
        try:
            return original(self, *arguments, **keywords)
        finally:
            state.inside = False
            entry = seen.setdefault(id(self), Seen(self))
            entry.arguments, entry.keywords = arguments, keywords
            entry.calls += 1
            entry.seconds += time.perf_counter() - begin

    nn.Module.__call__ = noted
    try:
        yield seen
    finally:
        nn.Module.__call__ = original


def run_script(path: str, arguments: Sequence[str]) -> list[Seen]:
    """Runs it as `python path arguments...` would, and gives its modules, the one with the most time first."""
    before = sys.argv
    sys.argv = [path, *arguments]
    try:
        with watch() as seen, contextlib.suppress(SystemExit):
            runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv = before
    return sorted(seen.values(), key=lambda entry: -entry.seconds)
