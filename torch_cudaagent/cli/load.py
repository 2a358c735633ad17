"""From MODULE:FACTORY on the command line to a model and its inputs."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pathlib
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch

from ..errors import UserError


def _import(name: str) -> ModuleType:
    if name.endswith(".py"):
        path = pathlib.Path(name)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise UserError(f"There is no file {name}; give a path to a Python file or the name of a module.")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UserError(f"Cannot import {name} ({error}); run from the folder that holds it or install it.") from error


def parse_input(text: str, device: str) -> torch.Tensor:
    """`2x3x224x224` or `4x128:int64:1000`: dims, dtype (float32), and for integers the exclusive upper bound."""
    dims_text, _, rest = text.partition(":")
    dtype_name, _, high = rest.partition(":")
    dtype = getattr(torch, dtype_name or "float32", None)
    try:
        dims = [int(dim) for dim in dims_text.split("x")] if dims_text else []
        bound = int(high) if high else 2
    except ValueError:
        dtype = None
    if not isinstance(dtype, torch.dtype):
        raise UserError(f"Cannot read the input {text!r}; write it like 2x3x224x224 or 4x128:int64:1000.")
    if dtype.is_floating_point:
        return torch.randn(dims, device=device, dtype=dtype)
    return torch.randint(0, bound, dims, device=device, dtype=dtype)


def find_factory(target: str) -> Any:
    """What `MODULE:FACTORY` names: a function or class that makes the model, or the model."""
    module_name, _, factory_name = target.partition(":")
    if not factory_name:
        raise UserError(f"{target!r} names no factory; write MODULE:FACTORY, as in torchvision.models:resnet18.")
    factory = getattr(_import(module_name), factory_name, None)
    if factory is None:
        raise UserError(f"{module_name} has no {factory_name}; name a function or class that returns the model.")
    return factory


def load_model(target: str, inputs: Sequence[str], device: str) -> tuple[torch.nn.Module, tuple[Any, ...]]:
    """`MODULE:FACTORY`; the factory returns a module, or (module, inputs). Inputs given on the command line win."""
    factory = find_factory(target)
    made = factory() if callable(factory) and not isinstance(factory, torch.nn.Module) else factory
    model, example = made if isinstance(made, tuple) else (made, ())
    if not isinstance(model, torch.nn.Module):
        raise UserError(
            f"{target} gave a {type(model).__name__}; it must give a torch.nn.Module, or one with its inputs."
        )
    example = tuple(parse_input(text, device) for text in inputs) or tuple(
        x.to(device) if isinstance(x, torch.Tensor) else x for x in example
    )
    if not example:
        raise UserError(f"{target} brings no inputs; add them, as in --input 1x3x224x224.")
    return model.to(device).eval(), example
