"""The optimized form of a module or a function.

A module stays the object it is: torch.nn.Module calls `_compiled_call_impl` when there is one (Module.compile()).
What stands there is an OptimizedCall. It follows the module through deepcopy and pickle, which drop that attribute.
"""

from __future__ import annotations

import functools
import itertools
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._C._dynamo.eval_frame import reset_code
from torch._dynamo import exc
from torch._dynamo.convert_frame import compile_lock

from .backend import Backend
from .options import Options

ATTRIBUTE = "_cudaagent"


class _Switch(threading.local):
    off = 0


switch = _Switch()

_DYNAMO = {
    "allow_rnn": True,  # keep recurrent layers in the graph; rnn.py sees that they are not unrolled
    "specialize_float": True,  # a Python float is part of the program, not a tensor
    "skip_nnmodule_hook_guards": False,  # a hook added later counts
}
_RECOMPILE_LIMIT = 32

# Dynamo could not trace. Plain PyTorch runs the call, or raises the error that is the model's own.
_TRACING_ERRORS = (exc.TorchRuntimeError, exc.InternalTorchDynamoError, exc.Unsupported, exc.BackendCompilerFailed)


class _Callback:
    """Dynamo's callback under our settings: they hold while a frame is being traced and at no other time."""

    def __init__(self, inner: Any) -> None:
        self._torchdynamo_orig_backend = inner

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        config = torch._dynamo.config
        limit = max(config.recompile_limit, _RECOMPILE_LIMIT)
        # Dynamo takes this lock a moment later; two threads must not undo each other's patch.
        with compile_lock, config.patch(_DYNAMO | {"recompile_limit": limit}):
            return self._torchdynamo_orig_backend(*arguments, **keywords)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torchdynamo_orig_backend, name)


def compile_function(function: Callable[..., Any], backend: Any) -> Callable[..., Any]:
    """`function` through Dynamo and `backend`."""
    context = torch._dynamo.optimize(backend, dynamic=backend.options.dynamic)
    context.callback = _Callback(context.callback)
    return context(function)


_numbers = itertools.count(1)


def _forward(module: nn.Module, /, *arguments: Any, **keywords: Any) -> Any:
    """The frame that Dynamo captures. nn.Module's own are on its list of files to skip."""
    return module._call_impl(*arguments, **keywords)


def own_code(function: Callable[..., Any]) -> types.FunctionType:
    """`function` with a code object and globals of its own.

    Dynamo keeps compiled code, its limits and the sizes that changed by code object or its name, and puts what it
    compiled among the globals. So two modules do not disturb each other, and all of it goes when the module goes.
    """
    assert isinstance(function, types.FunctionType)
    name = f"{function.__name__}_{next(_numbers)}"
    scope = {"__name__": __name__, "__builtins__": function.__globals__["__builtins__"]}
    return types.FunctionType(function.__code__.replace(co_name=name), scope, name)


def _plain(backend: Backend, function: Callable[..., Any], arguments: Any, keywords: Any) -> Any:
    """Runs the call that could not be traced.

    Outside the handler of that, so that an error of the model's own is not shown as a consequence of Dynamo's, and does
    not count as a failure to trace.
    """
    result = function(*arguments, **keywords)
    backend.count_failure()
    return result


class OptimizedCall:
    """Calls one module through its compiled form. Holds the module weakly: the module holds it."""

    def __init__(self, module: nn.Module, options: Options) -> None:
        self._module = weakref.ref(module)
        self.options = options
        self.backend = Backend(options)
        self._compiled: Callable[..., Any] | None = None

    @property
    def module(self) -> nn.Module:
        module = self._module()
        assert module is not None
        return module

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        module = self._module()
        backend = self.backend
        if switch.off or backend.hopeless:
            return module._call_impl(*arguments, **keywords)  # type: ignore[union-attr]
        compiled = self._compiled or self._compile()
        try:
            return compiled(module, *arguments, **keywords)
        except _TRACING_ERRORS as error:
            backend.note_failure(error)
        return _plain(backend, module._call_impl, arguments, keywords)  # type: ignore[union-attr]

    def _compile(self) -> Callable[..., Any]:
        frame = own_code(_forward)
        self._compiled = compile_function(frame, self.backend)
        # Dynamo's tables and the code's own cache hold each other, so nothing else would free what was compiled.
        weakref.finalize(self, reset_code, frame.__code__).atexit = False
        return self._compiled

    def __deepcopy__(self, memo: dict[int, Any]) -> OptimizedCall | None:
        # nn.Module's own deepcopy has made the new module, and is now copying what it holds.
        copied = memo.get(id(self._module()))
        return attach(copied, self.options) if isinstance(copied, nn.Module) else None

    def __reduce__(self) -> tuple[Any, ...]:
        return attach, (self._module(), self.options)


def attach(module: nn.Module, options: Options) -> OptimizedCall:
    """Makes calls of `module` go through a compiled form of it."""
    call = OptimizedCall(module, options)
    # While a module is being unpickled or copied it has no attributes yet, and nn.Module's __setattr__ would fail.
    module.__dict__[ATTRIBUTE] = call
    module.__dict__["_compiled_call_impl"] = call
    return call


def detach(module: nn.Module) -> None:
    if module.__dict__.pop(ATTRIBUTE, None) is not None:
        module.__dict__.pop("_compiled_call_impl", None)


def backend_of(thing: Any) -> Backend | None:
    """The backend that optimize() gave to this very object, if it did."""
    if not isinstance(thing, nn.Module):
        return getattr(thing, ATTRIBUTE, None)
    call = thing.__dict__.get(ATTRIBUTE)
    # A shallow copy holds the call of the original.
    return call.backend if isinstance(call, OptimizedCall) and call._module() is thing else None


def optimize_function(function: Callable[..., Any], options: Options) -> Callable[..., Any]:
    backend = Backend(options)
    compiled = compile_function(function, backend)

    @functools.wraps(function)
    def optimized(*arguments: Any, **keywords: Any) -> Any:
        if switch.off or backend.hopeless:
            return function(*arguments, **keywords)
        try:
            return compiled(*arguments, **keywords)
        except _TRACING_ERRORS as error:
            backend.note_failure(error)
        return _plain(backend, function, arguments, keywords)

    setattr(optimized, ATTRIBUTE, backend)
    return optimized
