"""Prints docs/ops.md: which ATen operators become primitives, and which pointwise ones do not, with the reason.

python tests/tools/list_operators.py > docs/ops.md
"""

from __future__ import annotations

import pathlib
import re
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "python")]

import rewriting  # noqa: E402

ROUTINE = "a numerical routine of its own, without core decomposition"
# Why a pointwise operator has no rule. Patterns match the whole name.
REASONS = {
    r"special_(airy|bessel|chebyshev|hermite|laguerre|legendre|modified|scaled|shifted|spherical)\w*(\.\w+)?": ROUTINE,
    r"special_(erfcx|i0e|i1e|ndtri|zeta)(\.\w+)?|igammac?|i1e": ROUTINE,
    r"special_log_ndtr": "needs erfcx, which is a routine of its own",
    r"frexp\.Tensor|gcd|lcm|ldexp\.Tensor": "no core decomposition",
    r"equal": "its result is a number of Python, not a tensor",
    r"\w+\.Out\w+": "writes into an argument; functionalisation removes it",
}


def plain(op: torch._ops.OpOverload) -> str:
    """The registry's name: no namespace mark, no `.default`."""
    return op.name().removeprefix("aten::").removesuffix(".default")


def overloads() -> list[torch._ops.OpOverload]:
    found = []
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        if isinstance(packet, torch._ops.OpOverloadPacket):
            found += [getattr(packet, overload) for overload in packet.overloads()]
    return found


def pointwise() -> list[str]:
    """Every functional overload that torch tags as pointwise."""
    tagged = [op for op in overloads() if torch.Tag.pointwise in op.tags and not op._schema.is_mutable]
    return sorted(plain(op) for op in tagged)


def why_not(name: str) -> str | None:
    return next((reason for pattern, reason in REASONS.items() if re.fullmatch(pattern, name)), None)


def page() -> str:
    covered = sorted(name.removeprefix("aten::") for name in rewriting.covered_operators())
    packets: dict[str, list[str]] = {}
    for name in covered:
        base, _, overload = name.partition(".")
        packets.setdefault(base, []).append(overload or "default")
    lines = [
        "# Operators that become primitives",
        "",
        "The rewrite room turns these ATen operators into the primitives of `csrc/ir/prims.h`; templates generate",
        "their kernels. All others stay extern and run in PyTorch. A covered operator stays extern too, with its",
        "reason in `explain()`, when a dtype is none of float32, float64, float16, bfloat16, int8 to int64, uint8 and",
        "bool, when an argument is not known at capture, when its tensors lie on several devices, when a reduction",
        "has no elements, and in training mode where it draws random numbers or takes batch statistics.",
        "",
        "This page is printed by `tests/tools/list_operators.py`; a test compares it with the registry.",
        "",
        "| operator | overloads |",
        "|---|---|",
        *[f"| `{base}` | {', '.join(names)} |" for base, names in packets.items()],
        "",
        "## Pointwise operators without a rule",
        "",
        "| operator | reason |",
        "|---|---|",
        *[f"| `{name}` | {why_not(name)} |" for name in pointwise() if name not in covered],
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
