"""An exported ATen graph as the graph document (docs/graph.md)."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx

from . import rnn
from .errors import NotExpressible

# Checked when the graph was captured; its inputs are guarded, so it cannot fail later.
_HELD_BY_GUARDS = {"aten::_assert_tensor_metadata", "aten::sym_constrain_range_for_size", "aten::sym_constrain_range"}
# Only steers autograd, and a captured graph needs no gradients.
_NO_EFFECT = {torch._C._set_grad_enabled}


@dataclasses.dataclass
class Document:
    """The document with what the caller must know to run it.

    sources     for each graph input, the argument it comes from; the constants follow the arguments
    constants   tensors the code made once, bound after the arguments
    returned    for each thing the graph returns, the position of its tensor among the program's outputs, or None
    literals    for each thing the graph returns, its value when it is not a tensor
    """

    graph: dict[str, Any]
    sources: list[int]
    constants: list[torch.Tensor]
    returned: list[int | None]
    literals: list[Any]


@dataclasses.dataclass(frozen=True)
class InputInfo:
    """What an argument of the exported graph is to the module it came from."""

    kind: str = "user"
    target: str = ""


class _Writer:
    def __init__(self, gm: fx.GraphModule) -> None:
        self.gm = gm
        self.values: list[dict[str, Any]] = []
        self.ids: dict[tuple[fx.Node, int | None], int] = {}
        self.flat: dict[fx.Node, tuple[fx.Node, list[int]]] = {}
        self.nodes: list[dict[str, Any]] = []

    def add_value(self, node: fx.Node, position: int | None, tensor: Any) -> int:
        value = describe(tensor)
        value["name"] = node.name if position is None else f"{node.name}.{position}"
        self.values.append(value)
        self.ids[node, position] = len(self.values) - 1
        return len(self.values) - 1

    def value_of(self, node: fx.Node) -> int:
        source, path = self.flat.get(node, (node, None))
        position = None if path is None else _flat_position(source.meta["val"], path)
        found = self.ids.get((source, position))
        if found is None:
            raise NotExpressible(f"{node.name} is used as a tensor and is not one")
        return found

    def add_getitem(self, node: fx.Node) -> None:
        base, index = node.args
        if not isinstance(base, fx.Node) or not isinstance(index, int):
            raise NotExpressible(f"indexing by {index!r} outside an operator")
        source, path = self.flat.get(base, (base, []))
        self.flat[node] = (source, [*path, index])

    def add_call(self, node: fx.Node) -> None:
        target = node.target
        if not isinstance(target, torch._ops.OpOverload):
            raise NotExpressible(f"{getattr(target, '__name__', target)} is not an operator with a schema")
        if target._schema.is_mutable:
            raise NotExpressible(f"{target.name()} writes to its arguments after functionalisation")
        entry = {"op": rnn.aten_name(target.name()), "args": self.arguments(node, target)}
        entry["outputs"] = self.outputs(node)
        self.nodes.append(entry)

    def arguments(self, node: fx.Node, target: torch._ops.OpOverload) -> list[Any]:
        schema = target._schema.arguments
        if len(node.args) > len(schema):
            raise NotExpressible(f"{target.name()} is called with more arguments than its schema has")
        given = {schema[i].name: argument for i, argument in enumerate(node.args)} | dict(node.kwargs)
        types = {argument.name: argument.type for argument in schema}
        return [[name, self.argument(value, types[name])] for name, value in given.items()]

    def argument(self, value: Any, kind: Any = None) -> Any:
        if isinstance(value, fx.Node):
            return {"ref": self.value_of(value)}
        if isinstance(value, list | tuple):
            element = _element_type(kind)
            return [self.argument(item, element) for item in value]
        if type(value) is int and _wants_float(kind):
            value = float(value)
        return literal(value)

    def outputs(self, node: fx.Node) -> list[int | None]:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            return [self.add_value(node, None, value)]
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            if node.users:
                raise NotExpressible(f"{node.target} returns a number that the graph goes on to use")
            return [None]
        used = _used_positions(node)
        flat = list(_flatten(value))
        return [
            self.add_value(node, i, tensor) if isinstance(tensor, torch.Tensor) and i in used else None
            for i, tensor in enumerate(flat)
        ]


def describe(tensor: Any) -> dict[str, Any]:
    """dtype, dims, strides and device of a (fake) tensor."""
    if not isinstance(tensor, torch.Tensor):
        raise NotExpressible(f"a value of type {type(tensor).__name__}")
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        raise NotExpressible(f"a tensor that is not strided ({tensor.layout})")
    dims, strides = list(tensor.shape), list(tensor.stride())
    if not all(type(n) is int for n in dims + strides):
        raise NotExpressible("a size that is not known when the graph is captured")
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "dims": dims,
        "strides": strides,
        "device": device_name(tensor.device),
    }


def device_name(device: torch.device) -> str:
    if device.type != "cuda":
        return device.type
    if device.index is None:
        return f"cuda:{torch.cuda.current_device() if torch.cuda.is_initialized() else 0}"
    return f"cuda:{device.index}"


def literal(value: Any) -> Any:
    """A constant argument in the document's form."""
    if value is None or isinstance(value, bool) or type(value) is int:
        return value
    if isinstance(value, float):
        return {"f": value if math.isfinite(value) else "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, str):
        return {"s": value}
    for kind, name in ((torch.dtype, "dtype"), (torch.layout, "layout"), (torch.memory_format, "memory_format")):
        if isinstance(value, kind):
            return {name: str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": device_name(value)}
    raise NotExpressible(f"an argument of type {type(value).__name__}")


def to_document(
    gm: fx.GraphModule,
    inputs: Sequence[InputInfo | None],
    aliases: Sequence[int | None],
    mutated: Mapping[str, str],
) -> Document:
    """`gm` as a document.

    inputs   for each placeholder what it is; None for one that is no tensor and is baked in
    aliases  for each thing the user gets back, the placeholder whose storage it shares, or None
    mutated  graph signature: output node name -> placeholder name
    """
    gm.graph.eliminate_dead_code(is_impure_node=_is_kept)
    writer = _Writer(gm)
    document: dict[str, Any] = {"values": writer.values, "inputs": [], "nodes": writer.nodes, "outputs": []}
    sources: list[int] = []
    constants: list[torch.Tensor] = []
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    for position, (node, info) in enumerate(zip(placeholders, inputs, strict=True)):
        if info is None:
            if node.users:
                raise NotExpressible("an argument that is not a tensor is still read by the graph")
            continue
        value = writer.add_value(node, None, node.meta["val"])
        document["inputs"].append({"value": value, "kind": info.kind, "target": info.target})
        sources.append(position)
    for node in gm.graph.nodes:
        if node.op == "get_attr":
            constants.append(_constant(gm, node))
            value = writer.add_value(node, None, constants[-1])
            document["inputs"].append({"value": value, "kind": "constant", "target": str(node.target)})
        elif node.op == "call_function" and not _skipped(node):
            writer.add_getitem(node) if node.target is operator.getitem else writer.add_call(node)
    results = next(iter(reversed(gm.graph.nodes))).args[0]
    document["mutations"], written = _mutations(writer, placeholders, mutated, results)
    user_results = results[len(mutated) :]
    returned, literals = _outputs(writer, document["outputs"], user_results, aliases, placeholders, written)
    return Document(document, sources, constants, returned, literals)


def _mutations(
    writer: _Writer, placeholders: list[fx.Node], mutated: Mapping[str, str], results: Sequence[Any]
) -> tuple[list[dict[str, int]], dict[str, fx.Node]]:
    by_name = {node.name: node for node in placeholders}
    written: dict[str, fx.Node] = {}
    entries = []
    for result in results[: len(mutated)]:
        target = by_name[mutated[result.name]]
        written[target.name] = result
        if result is not target:
            entries.append({"input": writer.value_of(target), "value": writer.value_of(result)})
    return entries, written


def _outputs(
    writer: _Writer,
    entries: list[dict[str, Any]],
    results: Sequence[Any],
    aliases: Sequence[int | None],
    placeholders: list[fx.Node],
    written: Mapping[str, fx.Node],
) -> tuple[list[int | None], list[Any]]:
    returned: list[int | None] = []
    literals: list[Any] = []
    for result, alias in zip(results, aliases, strict=True):
        if not isinstance(result, fx.Node):
            literal(result)
            returned.append(None)
            literals.append(result)
            continue
        shared = None
        if alias is not None:
            source = placeholders[alias]
            if source.name in written and result is not written[source.name]:
                raise NotExpressible("an output is a view of an input that the graph writes to")
            shared = writer.value_of(source)
        returned.append(len(entries))
        literals.append(None)
        entries.append({"value": writer.value_of(result), "alias_of": shared})
    return returned, literals


def _constant(gm: fx.GraphModule, node: fx.Node) -> torch.Tensor:
    value = operator.attrgetter(str(node.target))(gm)
    if not isinstance(value, torch.Tensor) or isinstance(value, torch._subclasses.FakeTensor):
        raise NotExpressible(f"the constant {node.target} is not a tensor with values")
    return value.detach()


def _skipped(node: fx.Node) -> bool:
    if node.target in _NO_EFFECT:
        return True
    return isinstance(node.target, torch._ops.OpOverload) and node.target.name().split(".")[0] in _HELD_BY_GUARDS


def _is_kept(node: fx.Node) -> bool:
    """Nodes that stay though nobody reads them: random draws move the generator, other effects are effects."""
    if node.op in ("placeholder", "output"):
        return True
    if _skipped(node):
        return False
    if isinstance(node.target, torch._ops.OpOverload):
        tags = node.target.tags
        return torch.Tag.nondeterministic_seeded in tags or not node.target._schema.returns
    return node.op == "call_function" and node.target is not operator.getitem


def _used_positions(node: fx.Node) -> set[int]:
    used: set[int] = set()
    todo: list[tuple[fx.Node, list[int]]] = [(user, []) for user in node.users]
    while todo:
        user, prefix = todo.pop()
        if user.target is not operator.getitem:
            raise NotExpressible(f"{node.name} is passed on as a whole list")
        path = [*prefix, int(user.args[1])]
        value = node.meta["val"]
        for step in path:
            value = value[step]
        if isinstance(value, list | tuple):
            todo += [(next_user, path) for next_user in user.users]
        else:
            used.add(_flat_position(node.meta["val"], path))
    return used


def _flatten(value: Any) -> Any:
    for item in value:
        if isinstance(item, list | tuple):
            yield from _flatten(item)
        else:
            yield item


def _flat_position(value: Any, path: Sequence[int]) -> int:
    position = 0
    for step in path:
        step = range(len(value))[step]
        position += sum(len(list(_flatten([item]))) for item in value[:step])
        value = value[step]
    return position


def _element_type(kind: Any) -> Any:
    while isinstance(kind, torch.OptionalType):
        kind = kind.getElementType()
    return kind.getElementType() if isinstance(kind, torch.ListType) else kind


def _wants_float(kind: Any) -> bool:
    while isinstance(kind, torch.OptionalType):
        kind = kind.getElementType()
    return isinstance(kind, torch.FloatType)
