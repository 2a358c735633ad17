"""A model compiled for a device that is not here: captured on fake tensors, everything up to its binaries made.

It is how the CUDA path is checked on a machine without a GPU, and how a cache is filled before a GPU is there.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from . import capture, library, rnn
from .errors import NotExpressible
from .graph_json import Document
from .optimized import compile_function, own_code
from .options import Options, make_options


class _Collector:
    """A backend that keeps the documents and lets fake tensors through the graph."""

    compiler_name = "cudaagent_offline"

    def __init__(self) -> None:
        self.options = Options()
        self.documents: list[Document] = []

    def __call__(self, gm: fx.GraphModule, arguments: list[Any], **_: Any) -> Callable[..., Any]:
        facts = capture.read_facts(gm)
        reason = capture.why_not(gm, facts, arguments)
        if reason is not None:
            raise NotExpressible(reason)
        self.documents.append(capture.capture(gm, facts, arguments))
        return (rnn.retarget(gm) if facts.rnn else gm).forward


def capture_for(module: nn.Module, inputs: Sequence[Any], device: str = "cuda") -> list[Document]:
    """The documents of one call without gradients, as if module and inputs were on that device.

    The module and the inputs themselves stay as they are.
    """
    collector = _Collector()
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    moved: dict[int, Any] = {}  # by identity, so that tied weights stay tied

    def move(thing: Any) -> Any:
        if not isinstance(thing, torch.Tensor):
            return thing
        if id(thing) not in moved:
            fake = mode.from_tensor(thing.detach(), static_shapes=True).to(device)
            moved[id(thing)] = nn.Parameter(fake, thing.requires_grad) if isinstance(thing, nn.Parameter) else fake
        return moved[id(thing)]

    # Recurrent layers ask cuDNN, and so the driver, how it wants their weights laid out.
    with mode, torch.no_grad(), torch.backends.cudnn.flags(enabled=False):
        twin = _moved(module, move)
        arguments = pytree.tree_map(move, list(inputs))
        compile_function(own_code(_call), collector)(twin, *arguments)
    return collector.documents


def _moved(module: nn.Module, move: Callable[[Any], Any]) -> nn.Module:
    """A copy of `module` that shares nothing changeable with it and holds moved tensors."""
    twin = copy.deepcopy(module, {id(tensor): tensor for tensor in (*module.parameters(), *module.buffers())})
    for part in twin.modules():
        for name, tensor in (*part._parameters.items(), *part._buffers.items()):
            setattr(part, name, move(tensor))
        for name, value in list(vars(part).items()):
            if isinstance(value, torch.Tensor):
                setattr(part, name, move(value))
        if isinstance(part, nn.RNNBase):
            part._init_flat_weights()
    return twin


def compile_for(module: nn.Module, inputs: Sequence[Any], arch: str, **options: Any) -> list[dict[str, Any]]:
    """A report for each graph of the model, with its kernels' sources and resources, built for `arch` ("sm_90a")."""
    library.load()
    checked = make_options(options | {"cuda_arch": arch}).to_json()
    documents = capture_for(module, inputs)
    return [json.loads(torch.ops.cudaagent.compile_only(json.dumps(d.graph), checked)) for d in documents]


def plan_for(document: Document, arch: str) -> dict[str, Any]:
    """The regions of a captured graph for `arch`, nothing built: kind, operators and why one is left to PyTorch."""
    library.load()
    options = make_options({"cuda_arch": arch}).to_json()
    return dict(json.loads(torch.ops.cudaagent.plan_only(json.dumps(document.graph), options)))


def _call(module: nn.Module, /, *inputs: Any) -> Any:
    return module(*inputs)
