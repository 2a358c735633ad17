"""The hot-operator table."""

from __future__ import annotations

import dataclasses
import io
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from .profiler import Node, Profile


@dataclasses.dataclass
class _Group:
    """Equal operators: one name, one shape."""

    op: str
    shape: str
    nodes: list[Node]

    def total(self, field: str) -> float:
        return sum(getattr(node, field) for node in self.nodes)


def _groups(profile: Profile) -> list[_Group]:
    found: dict[tuple[str, str], _Group] = {}
    for node in profile.nodes:
        key = node.op.removeprefix("aten::"), ", ".join(node.outputs)
        found.setdefault(key, _Group(*key, [])).nodes.append(node)
    return sorted(found.values(), key=lambda group: -group.total("time_us"))


def render(profile: Profile, top: int) -> str:
    """Operators by time, equal ones together; then the whole beside its floors."""
    table = Table("operator", "output", "count", "time us", "share", "MB", "GFLOP", "floor us", "of roofline")
    for column in table.columns[2:]:
        column.justify = "right"
    total = profile.nodes_us or 1.0
    groups = _groups(profile)
    for group in groups[:top]:
        spent, floor = group.total("time_us"), group.total("floor_us")
        table.add_row(
            group.op,
            group.shape if len(group.shape) <= 44 else group.shape[:41] + "...",
            str(len(group.nodes)),
            f"{spent:.1f}",
            f"{spent / total:.1%}",
            f"{(group.total('read_bytes') + group.total('written_bytes')) / 1e6:.2f}",
            f"{group.total('flops') / 1e9:.3f}",
            f"{floor:.1f}",
            f"{floor / spent:.0%}" if spent else "",
        )
    out = io.StringIO()
    console = Console(file=out, width=150)
    console.print(table)
    if len(groups) > top:
        rest = sum(group.total("time_us") for group in groups[top:])
        console.print(f"and {len(groups) - top} more, {rest:.1f} us", markup=False)
    console.print(_whole(profile), markup=False)
    return out.getvalue()


def _whole(profile: Profile) -> str:
    floor = sum(node.floor_us for node in profile.nodes)
    lines = [
        f"{profile.model} on {profile.device}, times by {profile.collector}",
        f"a call {profile.wall_us:.1f} us, operators {profile.nodes_us:.1f} us, between them {profile.gaps_us:.1f} us",
        f"floor of the operators one by one {floor:.1f} us, of the whole fused {profile.fused_floor_us:.1f} us",
    ]
    return "\n".join(lines + [f"not seen into: a graph, because {why}" for why in profile.left])
