"""What a captured graph becomes at run time: programs bound to weights, chosen by shape, with PyTorch behind them.

The closures made here run at every call of the model, so they hold no more than the call needs.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
import logging
import operator
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._dynamo.convert_frame import compile_lock

from . import capture, capture_cache, library
from .errors import NotExpressible, Unavailable, UserError
from .graph_json import Document
from .options import Options

log = logging.getLogger("torch_cudaagent")

Callee = Callable[..., Any]

# Sets of weights that one graph keeps a program for (layers that share code, copies of a model).
MOST_BINDINGS = 64
# A dynamic graph gets a program for a shape at its third call, so that a length met once costs no compilation.
CALLS_BEFORE_SPECIALISING = 3
MOST_SHAPES = 16

GUARD = "cudaagent guard:"
INTERNAL = "cudaagent internal error:"


@dataclasses.dataclass
class Record:
    """What explain() needs of one graph; it outlives the programs."""

    operators: list[str]
    why_eager: str | None = None
    reports: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    eager_calls: dict[str, int] = dataclasses.field(default_factory=dict)
    capture_seconds: float = 0.0
    parameters: Any = dataclasses.field(default_factory=weakref.WeakSet)

    def ran_eager(self, reason: str) -> None:
        self.eager_calls[reason] = self.eager_calls.get(reason, 0) + 1


class Binding:
    """One compiled program with the weights it holds. Releases the native program when dropped."""

    def __init__(self, document: Document, compiled: tuple[str, str, list[bool]], weights: tuple[Any, ...]) -> None:
        try:
            self.handle: int = torch.ops.cudaagent.compile(*compiled)
        except ValueError as error:  # a UserError of the core
            raise Unavailable(str(error).splitlines()[0].rstrip(".")) from None
        self._constants = document.constants
        weakref.finalize(self, torch.ops.cudaagent.release, self.handle).atexit = False
        self.bind(weights)

    def bind(self, weights: tuple[Any, ...]) -> None:
        torch.ops.cudaagent.bind(self.handle, [*weights, *self._constants])
        self.weights = weights

    def report(self) -> dict[str, Any]:
        return json.loads(torch.ops.cudaagent.report(self.handle))


class Bindings:
    """The programs of one document, one for each set of weights in use."""

    def __init__(self, document: Document, options: Options, record: Record, bound: Sequence[int]) -> None:
        flags = [source in set(bound) for source in document.sources] + [True] * len(document.constants)
        self._document = document
        self._compiled = (json.dumps(document.graph), options.to_json(), flags)
        self._record = record
        self._by_weights: collections.OrderedDict[tuple[int, ...], Binding] = collections.OrderedDict()
        self._lock = threading.Lock()

    def of(self, weights: tuple[Any, ...]) -> Binding:
        key = tuple(map(id, weights))
        with self._lock:
            binding = self._by_weights.get(key)
            if binding is None:
                binding = self._make(weights)
                self._by_weights[key] = binding
            self._by_weights.move_to_end(key)
            return binding

    def _make(self, weights: tuple[Any, ...]) -> Binding:
        reusable = next((key for key, old in self._by_weights.items() if _is_abandoned(old.weights)), None)
        if reusable is None and len(self._by_weights) >= MOST_BINDINGS:
            reusable = next(iter(self._by_weights))
        if reusable is not None:
            # A fresh program would be the same but for its weights. Calls on the old ones that are still
            # running in another thread hold the tensors they use.
            binding = self._by_weights.pop(reusable)
            binding.bind(weights)
            return binding
        binding = Binding(self._document, self._compiled, weights)
        if not self._by_weights:
            self._record.reports.append(binding.report())
        return binding


def _references(items: tuple[Any, ...]) -> list[int]:
    return list(map(sys.getrefcount, items))


def _is_abandoned(weights: tuple[Any, ...]) -> bool:
    """True when some of these tensors is held by nobody but the binding: the module got other weights."""
    return any(count <= _references_of_a_held_tensor() for count in _references(weights))


@functools.cache
def _references_of_a_held_tensor() -> int:
    """What getrefcount says of a tensor that one tuple and one native owner hold. It differs between torch versions."""
    with torch.inference_mode(False):
        view = torch.empty(1).view(1)
        return _references((view._base,))[0]


def make_callable(
    gm: fx.GraphModule,
    document: Document,
    facts: capture.Facts,
    options: Options,
    record: Record,
    weights_now: Sequence[Any],
) -> Callee:
    """The function Dynamo calls in place of `gm`. `weights_now`: the arguments at the time of capture."""
    bound = [i for i in document.sources if facts.inputs[i].kind != "user"]
    users = [i for i in document.sources if facts.inputs[i].kind == "user"]
    pick_users, pick_bound = _picker(users), _picker(bound)
    bindings = Bindings(document, options, record, bound)
    binding = bindings.of(pick_bound(tuple(weights_now)))
    run = _builtin(torch.ops.cudaagent.run)
    if torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in weights_now):
        run = torch.no_grad()(run)  # no result needs a gradient, whatever the inputs say
    finish = _finisher(document, facts)
    fallback = gm.forward
    writes = bool(document.graph["mutations"])
    is_, every, apply = operator.is_, all, map

    def call(*arguments: Any) -> Any:
        nonlocal binding
        weights = pick_bound(arguments)
        current = binding
        if not every(apply(is_, weights, current.weights)):
            binding = current = bindings.of(weights)
        try:
            return finish(run(current.handle, pick_users(arguments)))
        except RuntimeError as error:
            reason = _own_failure(error, writes)
            if reason is None:
                raise
            record.ran_eager(reason)
        return fallback(*arguments)

    return call


def _own_failure(error: RuntimeError, writes: bool) -> str | None:
    """Why PyTorch may run the call instead: nothing has been written, and the failure is not the operators' own."""
    line = str(error).splitlines()[0] if str(error) else ""
    for mark in (GUARD,) if writes else (GUARD, INTERNAL):
        if mark in line:
            return line.split(mark, 1)[1].strip()
    return None


def _builtin(packet: Any) -> Callee:
    """The dispatcher's entry point itself, without the Python layers around it."""
    overload = packet.default
    return getattr(overload, "_op", overload)


def _picker(positions: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    if not positions:
        return lambda arguments: ()
    first, last = positions[0], positions[-1] + 1
    if list(positions) == list(range(first, last)):
        return operator.itemgetter(slice(first, last))
    return operator.itemgetter(*positions)


def _finisher(document: Document, facts: capture.Facts) -> Callee:
    """Puts what is no tensor back among the results, and a tensor of its own for a view of an input."""
    views = {i for i, output in enumerate(document.graph["outputs"]) if output["alias_of"] is not None}
    shared = sorted(views - {document.returned[k] for k, same in enumerate(facts.same) if same})
    arrange = _arranger(document)
    if not shared:
        return arrange

    def finish(tensors: list[Any]) -> Any:
        for i in shared:
            tensors[i] = tensors[i].detach()
        return arrange(tensors)

    return finish


def _arranger(document: Document) -> Callee:
    if None not in document.returned:
        return _as_they_are
    pattern = list(zip(document.returned, document.literals, strict=True))
    return lambda tensors: [literal if position is None else tensors[position] for position, literal in pattern]


def _as_they_are(tensors: Any) -> Any:
    return tensors


class ByShape:
    """A graph with symbolic sizes: one program for each set of concrete ones that keeps coming back."""

    def __init__(self, gm: fx.GraphModule, facts: capture.Facts, options: Options, record: Record) -> None:
        self._gm, self._facts, self._options, self._record = gm, facts, options, record
        self._users = [i for i, info in enumerate(facts.inputs) if info.kind == "user"]
        self._calls: dict[Any, int] = {}
        self._programs: dict[Any, Callee] = {}

    def __call__(self, *arguments: Any) -> Any:
        key = tuple([_shape_key(arguments[i]) for i in self._users])
        program = self._programs.get(key)
        if program is not None:
            return program(*arguments)
        # Tracing patches global state, so it waits for Dynamo in other threads.
        with compile_lock:
            program = self._programs.get(key) or self._specialise(key, arguments)
        return program(*arguments)

    def _specialise(self, key: Any, arguments: Sequence[Any]) -> Callee:
        if len(self._programs) >= MOST_SHAPES:
            self._record.ran_eager(f"more than {MOST_SHAPES} shapes are in use")
            return self._gm.forward
        if len(self._calls) > 64 * MOST_SHAPES:
            self._calls.clear()
        self._calls[key] = self._calls.get(key, 0) + 1
        if self._calls[key] < CALLS_BEFORE_SPECIALISING:
            self._record.ran_eager(f"a shape met fewer than {CALLS_BEFORE_SPECIALISING} times")
            return self._gm.forward
        self._programs[key] = compile_graph(self._gm, self._facts, arguments, self._options, self._record)
        return self._programs[key]


def _shape_key(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        return argument.shape, argument.stride()
    return argument


def _document(gm: fx.GraphModule, facts: capture.Facts, arguments: Sequence[Any], options: Options) -> Document:
    key = capture_cache.key_of(gm, facts, arguments)
    document = capture_cache.get(options, key) if key else None
    if document is None:
        document = capture.capture(gm, facts, arguments)
        if key:
            capture_cache.put(options, key, document)
    return document


@functools.cache
def _warn_once(sentence: str) -> None:
    """Every graph of every model meets what is missing; one sentence a process is enough."""
    log.warning("%s", sentence)


def compile_graph(
    gm: fx.GraphModule, facts: capture.Facts, arguments: Sequence[Any], options: Options, record: Record
) -> Callee:
    """A program for these arguments, or PyTorch with the reason recorded. Only a UserError gets out."""
    try:
        library.load()
        document = _document(gm, facts, arguments, options)
        return make_callable(gm, document, facts, options, record, arguments)
    except UserError:
        raise
    except NotExpressible as reason:
        record.why_eager = str(reason)
    except Unavailable as reason:
        record.why_eager = str(reason)
        _warn_once(f"{reason}; until then the results are computed by PyTorch alone.")
    except Exception as error:
        record.why_eager = f"{type(error).__name__}: {error}".splitlines()[0]
        log.warning("a graph of %d operators stays with PyTorch: %s", len(record.operators), record.why_eager)
        log.debug("the full error", exc_info=True)
    return gm.forward
