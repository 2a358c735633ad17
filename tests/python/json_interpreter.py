"""Runs a graph document (docs/graph.md) node by node through torch.ops.

Independent of the core: with it a test can tell whether a wrong result comes from capture or from what follows.
"""

from __future__ import annotations

import json
from typing import Any

import torch

_FLOATS = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


def _named(name: str) -> Any:
    return getattr(torch, name)


def decode(argument: Any, values: dict[int, torch.Tensor]) -> Any:
    if isinstance(argument, list):
        return [decode(item, values) for item in argument]
    if not isinstance(argument, dict):
        return argument
    ((form, content),) = argument.items()
    match form:
        case "ref":
            return values[content]
        case "f":
            return _FLOATS[content] if isinstance(content, str) else float(content)
        case "c":
            return complex(*content)
        case "s":
            return content
        case "device":
            return torch.device(content)
        case "dtype" | "layout" | "memory_format":
            return _named(content)
    raise AssertionError(f"unknown argument {argument}")


def operator(name: str) -> Any:
    namespace, rest = name.split("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


def flatten(result: Any) -> list[Any]:
    if isinstance(result, list | tuple):
        return [tensor for item in result for tensor in flatten(item)]
    return [result]


def check_value(value: dict[str, Any], tensor: torch.Tensor, strides: bool = False) -> None:
    assert str(tensor.dtype).removeprefix("torch.") == value["dtype"], value
    assert list(tensor.shape) == value["dims"], value
    if strides:
        real = [s for s, n in zip(tensor.stride(), tensor.shape, strict=True) if n > 1]
        said = [s for s, n in zip(value["strides"], value["dims"], strict=True) if n > 1]
        assert real == said or tensor.numel() == 0, (value, tensor.stride())


def run(document: dict[str, Any], inputs: list[torch.Tensor]) -> list[Any]:
    """Outputs in order, None for constants; mutations are written back. Checks each value against what is declared."""
    described = document["values"]
    values: dict[int, torch.Tensor] = {}
    for entry, tensor in zip(document["inputs"], inputs, strict=True):
        check_value(described[entry["value"]], tensor, strides=True)
        values[entry["value"]] = tensor
    for node in document["nodes"]:
        arguments = {name: decode(argument, values) for name, argument in node["args"]}
        results = flatten(call(operator(node["op"]), arguments))
        for identity, result in zip(node["outputs"], results, strict=True):
            if identity is not None:
                check_value(described[identity], result)
                values[identity] = result
    return finish(document, values)


def call(target: Any, arguments: dict[str, Any]) -> Any:
    """By position as far as the schema allows, since `self` and keyword-only arguments are both there."""
    positional, keywords = [], {}
    gap = False
    for parameter in target._schema.arguments:
        if parameter.name not in arguments:
            gap = True
        elif gap or parameter.kwarg_only:
            keywords[parameter.name] = arguments[parameter.name]
        else:
            positional.append(arguments[parameter.name])
    return target(*positional, **keywords)


def finish(document: dict[str, Any], values: dict[int, torch.Tensor]) -> list[Any]:
    written = {}
    for mutation in document["mutations"]:
        target = values[mutation["input"]]
        target.copy_(values[mutation["value"]])
        written[mutation["value"]] = target
    outputs = []
    for output in document["outputs"]:
        if "constant" in output:
            outputs.append(None)
        elif output["alias_of"] is not None and output["value"] in written:
            outputs.append(written[output["value"]])
        else:
            outputs.append(values[output["value"]])
    return outputs


def load(text: str) -> dict[str, Any]:
    return json.loads(text)
