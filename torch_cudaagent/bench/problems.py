"""KernelBench problems: found, loaded and built. The files are fetched by the user and never part of this repository.

A problem is `level<n>/<number>_<name>.py` with a class Model, get_inputs() and get_init_inputs().
"""

from __future__ import annotations

import ast
import dataclasses
import pathlib
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from ..errors import UserError


class DoesNotScale(Exception):
    """A problem whose model does not run any more once its sizes are capped."""


@dataclasses.dataclass(frozen=True)
class Problem:
    """The three names a problem file defines."""

    name: str
    model: Callable[..., nn.Module]
    get_inputs: Callable[[], Sequence[Any]]
    get_init_inputs: Callable[[], Sequence[Any]]

    def make(self) -> nn.Module:
        """The model as KernelBench builds it: in training mode, on torch's default device."""
        given = self.get_init_inputs()
        return self.model(**given) if isinstance(given, dict) else self.model(*given)


def find_problems(root: pathlib.Path, levels: Sequence[int], picks: Sequence[str] = ()) -> list[pathlib.Path]:
    """The files of those levels by number; `picks` ("1/23") keeps only these."""
    found = [path for level in levels for path in sorted((root / f"level{level}").glob("*.py"), key=_number)]
    if not found:
        raise UserError(
            f"There are no problems in {root}/level*; get https://github.com/ScalingIntelligence/KernelBench and name "
            "the folder that holds level1 with --path."
        )
    kept = [path for path in found if not picks or short_name(path) in picks]
    if not kept:
        raise UserError(f"None of {', '.join(picks)} is in {root}; name problems as in 1/23.")
    return kept


def short_name(path: pathlib.Path) -> str:
    """ "1/23" for level1/23_Softmax.py."""
    return f"{path.parent.name.removeprefix('level')}/{_number(path)}"


def load_problem(path: pathlib.Path, cap: int | None = None, suffix: str = "") -> Problem:
    """Runs the file. With `cap`, sizes among its top-level constants are at most that.

    The module it becomes is named after the file and `suffix`; two live ones need two names.
    """
    tree = ast.parse(path.read_text())
    if cap is not None:
        for statement in tree.body:
            if isinstance(statement, ast.Assign):
                statement.value = ast.fix_missing_locations(_Cap(cap).visit(statement.value))
    # A module that can be imported by its name: Dynamo asks for that.
    module = types.ModuleType(f"kernelbench_{path.parent.name}_{path.stem}{suffix}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    scope = vars(module)
    exec(compile(tree, str(path), "exec"), scope)
    return Problem(
        f"{short_name(path)} {path.stem.partition('_')[2]}",
        scope["Model"],
        scope["get_inputs"],
        scope["get_init_inputs"],
    )


class _Cap(ast.NodeTransformer):
    def __init__(self, cap: int) -> None:
        self._cap = cap

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        # A power of two stays one, so that groups still divide channels.
        if type(node.value) is int and node.value > self._cap:
            return ast.copy_location(ast.Constant(self._cap + node.value % 2), node)
        return node


def _number(path: pathlib.Path) -> int:
    return int(path.stem.partition("_")[0])
