"""optimize(), explain() and disable()."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, overload

import torch
from torch import nn

from . import library
from .backend import records_of
from .errors import UserError
from .explain import Explanation, measure_share
from .optimized import ATTRIBUTE, attach, backend_of, detach, optimize_function, switch
from .options import make_options

T = TypeVar("T", bound=Callable[..., Any])


@overload
def optimize(model: T, **options: Any) -> T: ...
@overload
def optimize(model: None = None, **options: Any) -> Callable[[T], T]: ...
def optimize(model: Any = None, **options: Any) -> Any:
    """Makes a module or a function run on generated kernels; results stay those of PyTorch (`precision=`).

    A module is changed in place and returned: its class, attributes, hooks, parameters and state_dict stay what they
    are. A deep copy or an unpickled one is optimized too. A function is wrapped, so `@optimize` and
    `@optimize(precision="high")` work as decorators. Compilation happens at the first call. The options are those of
    torch_cudaagent.Options.
    """
    checked = make_options(options)
    if model is None:
        return lambda function: optimize(function, **options)
    if isinstance(model, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        raise UserError("optimize() takes the module or function from before torch.jit.script; pass that one.")
    if not callable(model) or isinstance(model, type):
        raise UserError(f"optimize() takes a torch.nn.Module or a function, and was given a {type(model).__name__}.")
    if library.disabled():
        return model
    library.load()
    if isinstance(model, nn.Module):
        attach(model, checked)
        return model
    return optimize_function(model.__wrapped__ if hasattr(model, ATTRIBUTE) else model, checked)


def explain(model: Any, verbosity: int = 1, inputs: Sequence[Any] | None = None) -> Explanation:
    """What was done to `model`, once it has been called: print it, or take .to_dict().

    `verbosity` 0 shows totals, 1 every region, 2 the source of every kernel and all errors as well. With `inputs` the
    model is called on them under the profiler, and the share of time in generated kernels is shown.
    """
    share = None
    if inputs is not None:
        with torch.no_grad():
            share = measure_share(functools.partial(model, *inputs))
    through_torch_compile = hasattr(model, "_torchdynamo_orig_callable")
    model = getattr(model, "_orig_mod", model)
    parts = list(model.modules()) if isinstance(model, nn.Module) else [model]
    backends = [backend for backend in map(backend_of, parts) if backend is not None]
    records = [record for backend in backends for record in backend.records]
    if through_torch_compile:
        records += records_of(list(model.parameters()) if isinstance(model, nn.Module) else [])
    name = type(model).__name__ if isinstance(model, nn.Module) else getattr(model, "__name__", str(model))
    return Explanation(name, records, bool(backends) or through_torch_compile, verbosity, share)


@contextlib.contextmanager
def _off() -> Iterator[None]:
    switch.off += 1
    try:
        yield
    finally:
        switch.off -= 1


def disable(what: Any = None) -> Any:
    """Turns optimization off.

    disable()          a context manager: in this thread optimized models run as plain PyTorch inside it
    disable(module)    takes the optimization off that module and its children, and returns the module
    disable(function)  a function that always runs as plain PyTorch, inside optimized code too
    """
    if what is None:
        return _off()
    if isinstance(what, nn.Module):
        for part in what.modules():
            detach(part)
        return what
    if not callable(what):
        raise UserError(f"disable() takes nothing, a torch.nn.Module or a function, not a {type(what).__name__}.")

    @functools.wraps(what)
    def plain(*arguments: Any, **keywords: Any) -> Any:
        with _off():
            return what(*arguments, **keywords)

    return torch._dynamo.disable(plain)
