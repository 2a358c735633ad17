"""The Dynamo backend: `torch.compile(model, backend="cudaagent")` and the one behind optimize()."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from . import capture, library
from .errors import UserError
from .options import Options, make_options
from .program import ByShape, Record, compile_graph, log

NAME = "cudaagent"

# Records of graphs captured through torch.compile(backend="cudaagent"), for explain().
compiled_records: list[Record] = []


def compile_with(
    options: Options, records: list[Record], gm: fx.GraphModule, arguments: Sequence[Any]
) -> Callable[..., Any]:
    """What Dynamo runs in place of `gm`."""
    start = time.perf_counter()
    record = Record(operators=[_name(node) for node in gm.graph.nodes if node.op.startswith("call_")])
    records.append(record)
    facts = capture.read_facts(gm)
    for argument, info in zip(arguments, facts.inputs, strict=True):
        if info.kind == "parameter" and isinstance(argument, torch.Tensor):
            record.parameters.add(argument)
    record.why_eager = capture.why_not(gm, facts, arguments)
    if record.why_eager is not None:
        return gm.forward
    if facts.symbolic:
        library.load()
        return ByShape(gm, facts, options, record)
    result = compile_graph(gm, facts, arguments, options, record)
    record.capture_seconds = time.perf_counter() - start
    return result


_MOST_FAILURES = 3


class Backend:
    """A backend with its options and the records of what it was given; each optimized callable has its own."""

    compiler_name = NAME

    def __init__(self, options: Options) -> None:
        self.options = options
        self.records: list[Record] = []
        self._failures = 0  # calls that Dynamo could not trace and PyTorch ran
        self.hopeless = False  # nothing was ever traced, so another trial would only cost each call its time

    def count_failure(self) -> None:
        """A call ran in PyTorch after note_failure."""
        self._failures += 1
        traced = any(record.why_eager is None for record in self.records)
        if self._failures >= _MOST_FAILURES and not traced:
            self.hopeless = True
            reason = f"given up after {_MOST_FAILURES} calls that could not be traced"
            self.records.append(Record(operators=[], why_eager=reason))
            log.info("%s; PyTorch runs them from now on", reason)

    def note_failure(self, error: Exception) -> None:
        """Dynamo could not trace a call: kept for explain(); a UserError of ours goes on to the caller."""
        inner = getattr(error, "inner_exception", None)
        if isinstance(inner, UserError):
            raise inner from None
        reason = f"Dynamo: {type(error).__name__}: {str(error).strip().splitlines()[0]}"
        if not any(record.why_eager == reason for record in self.records):
            self.records.append(Record(operators=[], why_eager=reason))
            log.info("a call runs in PyTorch: %s", reason)

    def __call__(self, gm: fx.GraphModule, arguments: list[Any], **_: Any) -> Callable[..., Any]:
        return compile_with(self.options, self.records, gm, arguments)


def cudaagent_backend(
    gm: fx.GraphModule, example_inputs: list[Any], *, options: dict[str, Any] | None = None, mode: str | None = None
) -> Callable[..., Any]:
    """Entry point of the group torch_dynamo_backends. `options` are those of optimize().

    Recurrent layers stay with PyTorch here, since only the process-wide setting torch._dynamo.config.allow_rnn
    lets Dynamo see them; optimize() captures them.
    """
    if mode not in (None, "default"):
        raise UserError(f'backend="cudaagent" has no mode {mode!r}; pass options={{"precision": ...}} instead.')
    checked = make_options(options or {})
    if library.disabled():
        return gm.forward
    return compile_with(checked, compiled_records, gm, example_inputs)


def register() -> None:
    """Makes the name known without an installed entry point, too."""
    from torch._dynamo.backends import registry

    # Where Dynamo is loading the entry point, it registers what it finds there.
    if NAME not in registry._COMPILER_FNS and registry._BACKENDS.get(NAME) is None:
        registry.register_backend(cudaagent_backend, name=NAME)


def records_of(parameters: Sequence[torch.Tensor]) -> list[Record]:
    """Records made through torch.compile that share a parameter with these; without parameters, all of them."""
    wanted = {id(parameter) for parameter in parameters}
    return [r for r in compiled_records if not wanted or any(id(p) in wanted for p in r.parameters)]


def _name(node: fx.Node) -> str:
    if isinstance(node.target, str):
        return node.target
    return getattr(node.target, "__name__", str(node.target))


__all__ = ["NAME", "Backend", "Options", "cudaagent_backend", "records_of", "register"]
