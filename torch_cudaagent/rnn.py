"""Recurrent operators kept whole.

Fake propagation of aten::lstm and its kin unrolls every time step. While a graph is exported they are replaced by
operators of the same schema whose fake kernel only says the shapes; the document names the ATen operator again.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import fx

NAMESPACE = "cudaagent_capture"
KINDS = ("lstm", "gru", "rnn_tanh", "rnn_relu")

_library = torch.library.Library(NAMESPACE, "DEF")


def _shape_output(first: torch.Tensor, hidden: torch.Tensor, bidirectional: bool, batch_first: bool) -> torch.Tensor:
    width = hidden.shape[-1] * (2 if bidirectional else 1)
    if batch_first:  # computed time-major, then transposed
        return first.new_empty(first.shape[1], first.shape[0], width).transpose(0, 1)
    return first.new_empty(*first.shape[:-1], width)


def _like(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def _fake_input(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):  # type: ignore[no-untyped-def]
    states = list(hx) if isinstance(hx, list | tuple) else [hx]
    return (_shape_output(input, states[0], bidirectional, batch_first), *map(_like, states))


def _fake_data(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):  # type: ignore[no-untyped-def]
    states = list(hx) if isinstance(hx, list | tuple) else [hx]
    return (_shape_output(data, states[0], bidirectional, False), *map(_like, states))


def _define() -> None:
    for kind in KINDS:
        for overload, fake in (("input", _fake_input), ("data", _fake_data)):
            schema = str(getattr(getattr(torch.ops.aten, kind), overload)._schema)
            _library.define(schema.removeprefix("aten::"))
            torch.library.register_fake(f"{NAMESPACE}::{kind}.{overload}", fake, lib=_library)


_define()
_BUILTINS: dict[Any, str] = {getattr(torch._VF, kind): kind for kind in KINDS} | {
    getattr(torch, kind): kind for kind in KINDS
}


def _kind(node: fx.Node) -> str | None:
    return _BUILTINS.get(node.target) if node.op == "call_function" else None


def has_rnn(gm: fx.GraphModule) -> bool:
    return any(_kind(node) for node in gm.graph.nodes)


def retarget(gm: fx.GraphModule) -> fx.GraphModule:
    """`gm` with recurrent builtins replaced by this module's operators; `gm` itself is left alone."""
    graph = copy.deepcopy(gm.graph)
    for node in graph.nodes:
        kind = _kind(node)
        if kind is None:
            continue
        is_list = [isinstance(argument, list | tuple) for argument in node.args]
        whole = is_list[1] if kind == "lstm" else is_list[2]
        node.target = getattr(getattr(getattr(torch.ops, NAMESPACE), kind), "input" if whole else "data")
    return fx.GraphModule(gm, graph)


def aten_name(name: str) -> str:
    """The ATen name of an operator of this module; other names as they are."""
    return name.replace(f"{NAMESPACE}::", "aten::", 1)
