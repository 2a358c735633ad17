"""Which problems a run takes, and in which shard."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

from ..errors import UserError
from .problems import short_name
from .row import Mode, Row
from .tasks import Task

LEVELS = (1, 2, 3)
# All families in few seconds of kernels: for daily use.
QUICK = tuple(
    [f"1/{n}" for n in (6, 17, 23, 25, 42, 51, 54, 63, 77, 84, 91)]
    + [f"2/{n}" for n in (19, 33, 50, 56, 90, 91, 92, 94)]
    + [f"3/{n}" for n in (15, 22, 30, 35, 43, 45)]
)
# Repeated in every shard, so that shards can be held against each other.
SENTINELS = ("1/23", "1/54", "2/33", "2/90", "3/43")


def full_name(path: pathlib.Path) -> str:
    """ "level1/23_Softmax"."""
    return f"{path.parent.name}/{path.stem}"


def parse_shard(text: str) -> tuple[int, int]:
    """(first, step) of "2/4", the second of four."""
    part, _, count = text.partition("/")
    if not (part.isdigit() and count.isdigit() and 1 <= int(part) <= int(count)):
        raise UserError(f"--shard {text} is not a shard; write it like 2/4, the second of four.")
    return int(part) - 1, int(count)


def tasks_of(paths: Sequence[pathlib.Path], modes: Sequence[Mode], shard: str, cap: int | None) -> list[Task]:
    """A shard's own problems, then its sentinels."""
    first, step = parse_shard(shard)
    own = [(path, False) for path in paths[first::step]]
    if step > 1:
        mine = {path for path, _ in own}
        own += [(path, True) for path in paths if short_name(path) in SENTINELS and path not in mine]
    return [
        Task(full_name(path), int(short_name(path).partition("/")[0]), mode, str(path), cap, sentinel=repeated)
        for path, repeated in own
        for mode in modes
    ]


def not_done(tasks: Sequence[Task], rows: Sequence[Row], shard: str) -> list[Task]:
    """Those without a row; a sentinel needs one of this shard."""
    done = {(row["problem"], row["mode"]) for row in rows if not row.get("sentinel") or row.get("shard") == shard}
    return [task for task in tasks if (task.name, task.mode) not in done]
