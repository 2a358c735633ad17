"""Which operators have a rule, held against torch's own lists."""

from __future__ import annotations

import pathlib
import sys

import rewriting
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

import list_operators  # noqa: E402


def _covered() -> set[str]:
    return {name.removeprefix("aten::") for name in rewriting.covered_operators()}


def test_every_pointwise_operator_is_covered_or_says_why_not() -> None:
    covered = _covered()
    silent = [name for name in list_operators.pointwise() if name not in covered and not list_operators.why_not(name)]
    assert silent == []


def test_only_routines_of_their_own_lack_a_rule_among_core_operators() -> None:
    """What has a core decomposition, or is core ATen, is covered, save what the set below names."""
    decomposed = torch._decomp.core_aten_decompositions()
    core = {
        list_operators.plain(op)
        for op in list_operators.overloads()
        if torch.Tag.pointwise in op.tags
        and not op._schema.is_mutable
        and (op in decomposed or torch.Tag.core in op.tags)
    }
    assert core - _covered() <= {"special_log_ndtr", "frexp.Tensor"}


def test_every_rule_names_an_operator_of_torch() -> None:
    known = {list_operators.plain(op) for op in list_operators.overloads()}
    # Later releases of torch have operators that earlier ones lack, and drop others.
    assert len(_covered() - known) <= 6, sorted(_covered() - known)


def test_page_lists_the_registry() -> None:
    page = (ROOT / "docs" / "ops.md").read_text()
    listed = set()
    for line in page.split("## Pointwise")[0].splitlines():
        if line.startswith("| `"):
            base, overloads = (cell.strip() for cell in line.strip("|").split("|"))
            listed |= {base.strip("`") + ("" if o == "default" else f".{o}") for o in overloads.split(", ")}
    assert listed == _covered(), "run tests/tools/list_operators.py > docs/ops.md"
