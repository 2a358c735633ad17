"""Whether what was read from a file is what its TypedDict says; the dicts themselves are the only schema."""

from __future__ import annotations

import functools
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

_LARGEST = 1e100
_hints = functools.cache(get_type_hints)


def fits(value: Any, kind: Any) -> bool:
    """Fields that the dict does not name are let through, so that a newer version's rows can still be read.

    Numbers must be finite: JSON written elsewhere may hold NaN, which no mean survives.
    """
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if is_typeddict(kind):
        return isinstance(value, dict) and all(
            fits(value[name], of) for name, of in _hints(kind).items() if name in value
        )
    if origin is Literal:
        return isinstance(value, str) and value in args
    if origin is list:
        return isinstance(value, list) and all(fits(item, args[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(isinstance(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    if kind in (int, float):
        # Beyond it no ratio is a number; NaN compares false.
        return isinstance(value, (int, kind)) and not isinstance(value, bool) and abs(value) < _LARGEST
    return isinstance(value, kind)
