"""From a graph of Dynamo's to the graph document: functionalised, not decomposed, with mutations and aliases."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch._functorch.aot_autograd import aot_export_module
from torch._subclasses.fake_tensor import FakeTensorMode

from . import rnn
from .errors import NotExpressible
from .graph_json import Document, InputInfo, to_document

_AUTOCAST = {torch.amp.autocast_mode._enter_autocast, torch.amp.autocast_mode._exit_autocast}
_NAME_STEP = re.compile(r"_(?:modules|parameters|buffers)\['([^']*)'\]|\.([A-Za-z]\w*)|\[('?[^\]']*'?)\]")


_PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, torch._subclasses.FakeTensor)


AMBIGUOUS = -1  # among aliases: more than one input has that memory


@dataclasses.dataclass
class Facts:
    """What Dynamo knows of a graph and the export does not say."""

    inputs: list[InputInfo]
    symbolic: bool
    aliases: list[int | None]  # for each result the input whose memory it shares
    same: list[bool]  # whether a result is an input itself, as after an update in place
    needs_grad: bool
    autocast: bool
    rnn: bool


def read_facts(gm: fx.GraphModule) -> Facts:
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    examples = [node.meta.get("example_value") for node in placeholders]
    returned = next(iter(reversed(gm.graph.nodes))).args[0]
    results = [node.meta.get("example_value") if isinstance(node, fx.Node) else None for node in returned]
    tensors = [value for value in results if isinstance(value, torch.Tensor)]
    return Facts(
        inputs=[_input_info(node) for node in placeholders],
        symbolic=any(_is_symbolic(value) for value in examples),
        aliases=aliases_of(examples, results),
        same=[isinstance(value, torch.Tensor) and any(value is example for example in examples) for value in results],
        needs_grad=any(tensor.requires_grad for tensor in tensors) or _writes_need_grad(gm),
        autocast=_autocast_is_on() or any(node.target in _AUTOCAST for node in gm.graph.nodes),
        rnn=rnn.has_rnn(gm),
    )


def why_not(gm: fx.GraphModule, facts: Facts, arguments: Sequence[Any]) -> str | None:
    """Why the graph is left to PyTorch, known before any work is done; None when it may be captured."""
    if facts.needs_grad:
        return "it needs gradients"
    if AMBIGUOUS in facts.aliases:
        return "a result is a view of memory that several inputs share"
    if facts.autocast and facts.rnn:
        return "a recurrent layer under autocast"
    if not any(node.op in ("call_function", "call_method", "call_module") for node in gm.graph.nodes):
        return "it computes nothing"
    for argument in arguments:
        if isinstance(argument, torch.Tensor) and type(argument) not in _PLAIN_TENSORS:
            return f"an input is a {type(argument).__name__}, a tensor of a class of its own"
    return None


def capture(gm: fx.GraphModule, facts: Facts, arguments: Sequence[Any]) -> Document:
    """The document of `gm` for arguments of exactly these shapes; they may be real or fake.

    Raises NotExpressible. Ambient modes (autocast, grad) are read as they are.
    """
    tensors = [i for i, argument in enumerate(arguments) if isinstance(argument, torch.Tensor)]
    traced = rnn.retarget(gm) if facts.rnn else gm
    with _quiet_tracing():
        exported, signature = _export(traced, arguments, tensors, facts.autocast)
    if signature.buffers or signature.parameters:
        raise NotExpressible("the graph holds tensors that are not among its inputs")
    position = {argument: i for i, argument in enumerate(tensors)}
    aliases = [None if alias is None else position.get(alias) for alias in facts.aliases]
    document = to_document(exported, [facts.inputs[i] for i in tensors], aliases, signature.user_inputs_to_mutate)
    document.sources = [tensors[i] for i in document.sources]
    return document


class _OnTensors(torch.nn.Module):
    """The graph as a function of its tensors; what is not a tensor has the value it has now."""

    def __init__(self, gm: fx.GraphModule, arguments: Sequence[Any], tensors: Sequence[int]) -> None:
        super().__init__()
        object.__setattr__(self, "_graph", gm)
        self._arguments = [None if i in set(tensors) else argument for i, argument in enumerate(arguments)]
        self._tensors = tensors

    def forward(self, *given: torch.Tensor) -> Any:
        arguments = list(self._arguments)
        for i, tensor in zip(self._tensors, given, strict=True):
            arguments[i] = tensor
        return self._graph.forward(*arguments)


def _export(gm: fx.GraphModule, arguments: Sequence[Any], tensors: Sequence[int], autocast: bool) -> Any:
    fakes = _fakes([arguments[i] for i in tensors])
    if not fakes:
        raise NotExpressible("it takes no tensor")
    # Before dispatch autocast has not acted yet, so its casts would be missing from the graph.
    return aot_export_module(
        _OnTensors(gm, arguments, tensors), fakes, trace_joint=False, pre_dispatch=not autocast, decompositions={}
    )


def _fakes(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    if any(isinstance(tensor, torch._subclasses.FakeTensor) for tensor in tensors):
        return list(tensors)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    return [mode.from_tensor(tensor, static_shapes=True) for tensor in tensors]


@contextlib.contextmanager
def _quiet_tracing() -> Any:
    """Tracing of ours, not part of the trace Dynamo is in the middle of."""
    with torch._guards.tracing(None), torch.no_grad():
        yield


def _is_symbolic(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return any(not isinstance(n, int) or isinstance(n, torch.SymInt) for n in (*value.shape, *value.stride()))
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool)


def _storage(value: Any) -> int | None:
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    return value.untyped_storage()._cdata


def aliases_of(examples: Sequence[Any], results: Sequence[Any]) -> list[int | None]:
    """For each result the input whose memory it shares. Of several with that memory, the one it covers exactly."""
    owners: dict[int, list[int]] = {}
    for i, example in enumerate(examples):
        storage = _storage(example)
        if storage is not None:
            owners.setdefault(storage, []).append(i)
    return [_alias(examples, owners.get(_storage(result) or 0, []), result) for result in results]


def _alias(examples: Sequence[Any], owners: list[int], result: Any) -> int | None:
    if len(owners) < 2:
        return owners[0] if owners else None
    exact = [i for i in owners if _place(examples[i]) == _place(result)]
    return exact[0] if exact else AMBIGUOUS


def _place(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.dtype, tensor.storage_offset(), tuple(tensor.shape), tensor.stride()


def _writes_need_grad(gm: fx.GraphModule) -> bool:
    """A graph may write a value with a gradient into an input and return something else."""
    if not torch.is_grad_enabled():
        return False
    for node in gm.graph.nodes:
        if not node.op.startswith("call_"):
            continue
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        example = node.meta.get("example_value")
        if (
            name.endswith("_")
            and not name.endswith("__")
            and isinstance(example, torch.Tensor)
            and example.requires_grad
        ):
            return True
    return False


def _autocast_is_on() -> bool:
    return torch._C._is_any_autocast_enabled()


def _input_info(node: fx.Node) -> InputInfo:
    source = getattr(node, "_dynamo_source", None)
    name = getattr(source, "name", "")
    name = name() if callable(name) else name
    kind = "parameter" if "._parameters[" in name else "buffer" if "._buffers[" in name else "user"
    if kind == "user":
        return InputInfo(kind, "")
    steps = [next(part for part in match if part) for match in _NAME_STEP.findall(name.split("]", 1)[-1])]
    return InputInfo(kind, ".".join(step.strip("'") for step in steps))
