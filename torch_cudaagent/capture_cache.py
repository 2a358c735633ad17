"""Documents of graphs that were captured before, kept in the user's own store.

Export costs about as much as Dynamo's own trace, so a second process that meets the same graph takes the document from
here. The key is everything the export depends on: the graph as Dynamo wrote it, its inputs, the ambient state,
and the versions. A graph whose key cannot be written down (a function of the user's, a tensor it holds) is exported
anew. Read-only layers are not asked: nothing after capture could tell a document that computes something else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx

from .capture import Facts
from .errors import NotExpressible
from .graph_json import Document, describe, literal
from .options import Options

# Raised when the same graph gives another document.
FORMAT = "1"
_TRUSTED_MODULES = ("torch", "_operator", "operator", "math", "builtins")
_TRUSTED_NAMESPACES = ("aten", "prims")
_MOST_CONSTANT_BYTES = 1 << 16


class _NoKey(Exception):
    """The graph depends on something that has no stable name."""


def key_of(gm: fx.GraphModule, facts: Facts, arguments: Sequence[Any]) -> list[str] | None:
    """Names and values of the key's fields, one after the other; None when there is no key."""
    try:
        text = json.dumps([_graph(gm), _inputs(arguments), _state(), _facts(facts)])
    except (_NoKey, NotExpressible):
        return None
    return ["format", FORMAT, "torch", torch.__version__, "graph", hashlib.sha256(text.encode()).hexdigest()]


def get(options: Options, key: list[str]) -> Document | None:
    text = torch.ops.cudaagent.cache_get(_store(options), key)
    if not text:
        return None
    try:
        return _decode(json.loads(text))
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError):  # written by something else
        return None


def put(options: Options, key: list[str], document: Document) -> None:
    encoded = _encode(document)
    if encoded is not None:
        torch.ops.cudaagent.cache_put(_store(options), key, json.dumps(encoded))


def _store(options: Options) -> str:
    return json.loads(torch.ops.cudaagent.options(options.to_json()))["cache_dir"]


def _graph(gm: fx.GraphModule) -> list[Any]:
    numbers: dict[fx.Node, int] = {}
    lines: list[list[Any]] = []
    for node in gm.graph.nodes:
        numbers[node] = len(numbers)
        if node.op == "placeholder":
            lines.append(["placeholder"])
        elif node.op in ("call_function", "call_method", "output"):
            arguments = [_argument(a, numbers) for a in node.args]
            keywords = {name: _argument(a, numbers) for name, a in node.kwargs.items()}
            lines.append([node.op, _target(node), arguments, keywords])
        else:
            raise _NoKey
    return lines


def _target(node: fx.Node) -> str:
    target = node.target
    if isinstance(target, str):
        return target
    if isinstance(target, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        name = target.name() if isinstance(target, torch._ops.OpOverload) else target._qualified_op_name
        if name.split("::")[0] in _TRUSTED_NAMESPACES:
            return name
        raise _NoKey
    # Builtins of torch's C parts name no module; torch itself lists them under one.
    module = getattr(target, "__module__", None) or torch.overrides.resolve_name(target) or ""
    name = getattr(target, "__qualname__", None)
    if name is None or module.split(".")[0] not in _TRUSTED_MODULES:
        raise _NoKey
    return f"{module}:{name}"


def _argument(value: Any, numbers: dict[fx.Node, int]) -> Any:
    if isinstance(value, fx.Node):
        return {"node": numbers[value]}
    if isinstance(value, list | tuple):
        return [type(value).__name__, *[_argument(item, numbers) for item in value]]
    if isinstance(value, slice):
        return {"slice": [_argument(part, numbers) for part in (value.start, value.stop, value.step)]}
    if isinstance(value, dict):
        return {"dict": [[_argument(k, numbers), _argument(v, numbers)] for k, v in value.items()]}
    if value is Ellipsis:
        return {"ellipsis": True}
    return {"value": literal(value)}


def _inputs(arguments: Sequence[Any]) -> list[Any]:
    first: dict[int, int] = {}
    described: list[Any] = []
    for position, argument in enumerate(arguments):
        if not isinstance(argument, torch.Tensor):
            described.append(literal(argument))
            continue
        owner = first.setdefault(argument.untyped_storage()._cdata, position)
        shared = None if owner == position else [owner, argument.storage_offset()]
        bits = [argument.is_conj(), argument.is_neg(), argument.is_inference(), type(argument) is torch.nn.Parameter]
        described.append([describe(argument), shared, bits])
    # Where storage is shared, the owner's own place in it matters, too.
    if len(first) < sum(isinstance(argument, torch.Tensor) for argument in arguments):
        described.append([a.storage_offset() for a in arguments if isinstance(a, torch.Tensor)])
    return described


def _state() -> list[Any]:
    if torch.overrides._get_current_function_mode_stack() or torch.utils._python_dispatch._get_current_dispatch_mode():
        raise _NoKey
    autocast = [
        [device, torch.is_autocast_enabled(device), str(torch.get_autocast_dtype(device))] for device in ("cpu", "cuda")
    ]
    return [
        autocast,
        str(torch.get_default_dtype()),
        torch.are_deterministic_algorithms_enabled(),
        torch.backends.mha.get_fastpath_enabled(),
    ]


def _facts(facts: Facts) -> list[Any]:
    return [[[info.kind, info.target] for info in facts.inputs], facts.aliases, facts.autocast, facts.rnn]


def _encode(document: Document) -> dict[str, Any] | None:
    constants = []
    for tensor in document.constants:
        if tensor.device.type != "cpu" or tensor.numel() * tensor.element_size() > _MOST_CONSTANT_BYTES:
            return None
        # Its bytes: exact for every dtype.
        content = (
            tensor.contiguous().view(-1).view(torch.uint8) if tensor.numel() else torch.empty(0, dtype=torch.uint8)
        )
        constants.append([describe(tensor), base64.b64encode(bytes(content.tolist())).decode()])
    try:
        literals = [None if value is None else literal(value) for value in document.literals]
    except NotExpressible:
        return None
    if any(isinstance(value, dict) and not value.keys() <= {"s", "f"} for value in literals):
        return None
    return {
        "graph": document.graph,
        "sources": document.sources,
        "constants": constants,
        "returned": document.returned,
        "literals": literals,
    }


def _decode(encoded: dict[str, Any]) -> Document:
    return Document(
        encoded["graph"],
        encoded["sources"],
        [_constant(value, content) for value, content in encoded["constants"]],
        encoded["returned"],
        [_plain(value) for value in encoded["literals"]],
    )


def _constant(value: dict[str, Any], content: str) -> torch.Tensor:
    dtype = getattr(torch, value["dtype"])
    tensor = torch.empty_strided(value["dims"], value["strides"], dtype=dtype)
    raw = base64.b64decode(content)
    if raw:
        tensor.copy_(torch.frombuffer(bytearray(raw), dtype=dtype).view(value["dims"]))
    return tensor


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return value["s"] if "s" in value else float(value["f"])
    return value
