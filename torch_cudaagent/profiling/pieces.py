"""The captured graphs of one call of a model, with the tensors each was given."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from .. import capture
from ..errors import NotExpressible
from ..graph_json import Document
from ..optimized import compile_function, own_code
from ..options import Options


@dataclasses.dataclass
class Piece:
    """One graph. Without a document it cannot be seen into, and `why` says for what reason."""

    arguments: tuple[Any, ...]
    document: Document | None
    why: str

    @property
    def graph_json(self) -> str:
        assert self.document is not None
        return json.dumps(self.document.graph)

    def tensors(self) -> list[torch.Tensor]:
        """The graph's inputs in its own order."""
        assert self.document is not None
        return [*(self.arguments[i] for i in self.document.sources), *self.document.constants]


class _Prober:
    """A backend that keeps each graph with its arguments and runs it as PyTorch does."""

    compiler_name = "cudaagent_profile"

    def __init__(self) -> None:
        self.options = Options()
        self.pieces: list[Piece] = []

    def __call__(self, gm: fx.GraphModule, arguments: list[Any], **_: Any) -> Callable[..., Any]:
        facts = capture.read_facts(gm)
        document, why = None, capture.why_not(gm, facts, arguments) or ""
        if not why:
            try:
                document = capture.capture(gm, facts, arguments)
            except NotExpressible as error:
                why = str(error)

        def called(*given: Any) -> Any:
            self.pieces.append(Piece(given, document, why))
            return gm.forward(*given)

        return called


def _call(model: Any, /, *inputs: Any) -> Any:
    return model(*inputs)


def capture_pieces(model: Callable[..., Any], inputs: Sequence[Any]) -> list[Piece]:
    """The graphs of one call, in the order they ran; a graph that ran twice is there twice."""
    prober = _Prober()
    with torch.no_grad():
        compile_function(own_code(_call), prober)(model, *inputs)
    return prober.pieces
