"""Parts of the benchmark's runner: what may run beside what, errors, draws, shards, speeds, floors."""

from __future__ import annotations

import dataclasses
import math
import pathlib
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from torch_cudaagent.bench import floor, protocols, selection
from torch_cudaagent.bench.draws import CannotReplay, Record, Replay, _draws
from torch_cudaagent.bench.errors import distance
from torch_cudaagent.bench.row import Row
from torch_cudaagent.bench.scheduler import BUSY, Limits, Scheduler
from torch_cudaagent.bench.score import score
from torch_cudaagent.bench.variants import Half, flags_of, share_state


@dataclasses.dataclass
class Process:
    """A child as the scheduler sees it."""

    estimate: int
    state: str = "sizing"
    held: int = 0

    @property
    def host_estimate(self) -> int:
        return 2 * self.estimate


NEXT = {"sizing": "sized", "preparing": "prepared", "timing": "timed", "judging": "leaving", "leaving": "gone"}


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=12),
    workers=st.integers(1, 4),
    batch=st.integers(1, 6),
    picks=st.randoms(use_true_random=False),
)
def test_a_problem_is_timed_alone_and_all_are_judged(sizes: list[int], workers: int, batch: int, picks: Any) -> None:
    scheduler = Scheduler(Limits(memory=100, host_memory=130, workers=workers, batch=batch))
    waiting, children, judged = [Process(size) for size in sizes], list[Process](), 0
    for _ in range(5000):
        moved = False
        while waiting and scheduler.room_for_new(children):  # type: ignore[arg-type]
            children.append(waiting.pop())
            moved = True
        for child, _, state in scheduler.orders(children):  # type: ignore[arg-type]
            child.state, moved = state, True  # type: ignore[attr-defined]
        busy = [child for child in children if child.state in BUSY]
        if any(child.state == "timing" for child in busy):
            assert len(busy) == 1
        assert sum(child.state in ("preparing", "judging") for child in busy) <= workers
        working = [child for child in busy if child.state in ("preparing", "judging", "timing")]
        if len(working) > 1:
            assert sum(c.host_estimate for c in working if c.state != "timing") <= 130
            assert sum(c.held for c in children) + sum(c.estimate for c in working) <= 100
        if not moved and not busy:
            scheduler.settle(children)  # type: ignore[arg-type]
        if busy:
            child = picks.choice(busy)
            judged += child.state == "judging"
            child.state = NEXT[child.state]
            child.held = child.estimate // 8 if child.state in ("prepared", "timed") else 0
            children = [child for child in children if child.state != "gone"]
        if not children and not waiting:
            break
    assert judged == len(sizes)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
@pytest.mark.parametrize("shape", [(), (1,), (7, 3), (4, 1, 33), (0, 5)])
def test_distance_is_what_it_says(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    truth = torch.randn(shape, dtype=torch.float64)
    got = (truth + 1e-2 * torch.randn(shape, dtype=torch.float64)).to(dtype)
    found, error = distance(got, truth, rtol=1e-2, atol=1e-3), got.double() - truth
    assert found.count == truth.numel() and found.unlike == 0
    if not truth.numel():
        assert found.rms == found.max == found.row == 0
        return
    size = truth.pow(2).mean().sqrt()
    assert found.rms == pytest.approx((error.pow(2).mean().sqrt() / size).item())
    assert found.max == pytest.approx((error.abs().max() / truth.abs().max()).item())
    assert found.outside == int((error.abs() > 1e-3 + 1e-2 * truth.abs()).sum())
    assert found.row >= found.rms * 0.999


def test_distance_tells_infinities_and_nans_apart() -> None:
    inf, nan = math.inf, math.nan
    truth = torch.tensor([inf, -inf, nan, 1.0, 2.0, inf])
    assert distance(truth.clone(), truth).unlike == 0 and distance(truth.clone(), truth).count == 2
    assert distance(torch.tensor([inf, inf, 1.0, nan, 2.0, inf]), truth).unlike == 3


class Random(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        noise = torch.randn(x.shape[-1]) + torch.rand_like(x).to(torch.float32)
        return nn.functional.dropout(x + noise, 0.3) * torch.bernoulli(torch.full_like(x, 0.5))


def test_draws_are_fed_to_double_precision() -> None:
    x = torch.rand(64, 64)
    torch.manual_seed(3)
    with Record() as record:
        single = Random()(x)
    with Replay(record.drawn):
        double = Random()(x.double())
    assert double.dtype == torch.float64 and len(record.drawn) == 4
    assert ((single == 0) == (double == 0)).all()
    torch.testing.assert_close(single.double(), double, rtol=1e-6, atol=1e-6)


def test_draws_inside_an_operator_are_refused() -> None:
    q = torch.rand(1, 2, 8, 4)
    attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    with Record() as record:
        attention(q, q, q, 0.0)
    assert record.drawn == []
    seeded = torch.ops.aten._scaled_dot_product_flash_attention.default
    with pytest.raises(CannotReplay, match="double precision"):
        _draws(seeded, (q, q, q, 0.5), {})


def subject(model: nn.Module, constant: bool = False) -> Any:
    class Subject:
        def make(self) -> nn.Module:
            return model

        def inputs(self, seed: int) -> tuple[Any, ...]:
            torch.manual_seed(0 if constant else seed)
            return (torch.rand(16, 16),)

    return Subject()


class Off(nn.Module):
    def __init__(self, by: float, relative: bool = False) -> None:
        super().__init__()
        self.by, self.relative = by, relative

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (1 + self.by) if self.relative else x + self.by


@pytest.mark.parametrize("protocol", sorted(protocols.JUDGES))
def test_protocols_pass_what_is_right_and_refuse_what_is_wrong(protocol: str) -> None:
    judge = protocols.JUDGES[protocol]
    exact = Off(0.0)
    assert judge(subject(exact), lambda: (exact, Off(0.0)))["passed"]
    wrong = judge(subject(exact), lambda: (exact, Off(0.05)))
    assert not wrong["passed"] and wrong["why"]
    assert not judge(subject(exact), lambda: (exact, lambda x: x.double()))["passed"]
    assert not judge(subject(exact), lambda: (exact, lambda x: (x, x)))["passed"]
    assert not judge(subject(exact), lambda: (exact, lambda x: x.where(x > 0.01, torch.nan)))["passed"]


def test_seed_refuses_what_does_not_look_at_its_input() -> None:
    """Outputs of two inputs that lie within 1e-2 of each other prove nothing by allclose alone."""
    model = Off(0.0)
    flat = lambda x: x * 1e-3  # noqa: E731
    found = protocols.judge_seed(
        subject(model), lambda: (nn.Sequential(Off(-0.999, True)), lambda x: flat(x) * 0 + 5e-4)
    )
    assert not found["passed"] and "different inputs" in found["why"]
    assert protocols.judge_seed(subject(model), lambda: (nn.Sequential(Off(-0.999, True)), flat))["passed"]


def test_equal_sees_buffers() -> None:
    class Counting(nn.Module):
        def __init__(self, step: float) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(1))
            self.step = step

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen += self.step * x.mean()
            return x + 0

    assert protocols.judge_equal(subject(nn.Identity()), lambda: (Counting(1), Counting(1)))["passed"]
    assert not protocols.judge_equal(subject(nn.Identity()), lambda: (Counting(1), Counting(1.01)))["passed"]


def test_constant_outputs_are_found() -> None:
    zero = lambda x: x * 0  # noqa: E731
    assert protocols.is_constant(subject(Off(-1.0, True)), lambda: (Off(-1.0, True), zero))
    assert not protocols.is_constant(subject(Off(0.0)), lambda: (Off(0.0), zero))


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_shards_hold_each_problem_once_and_sentinels_always(parts: int, tmp_path: pathlib.Path) -> None:
    paths = [tmp_path / f"level{n}" / f"{k}_P.py" for n in (1, 2, 3) for k in range(1, 96)]
    tasks = [selection.tasks_of(paths, ["train"], f"{part}/{parts}", None) for part in range(1, parts + 1)]
    own = [task.name for shard in tasks for task in shard if not task.sentinel]
    assert sorted(own) == sorted(selection.full_name(path) for path in paths)
    for shard in tasks:
        names = {task.name for task in shard}
        assert {f"level{name}_P" for name in selection.SENTINELS} <= names
    done: list[Row] = [{"problem": task.name, "mode": "train", "sentinel": True, "shard": "9/9"} for task in tasks[0]]
    assert selection.not_done(tasks[0], done, f"1/{parts}") == tasks[0]


def test_a_refused_result_has_the_speed_of_eager() -> None:
    row: Row = {
        "times": {
            name: {"wall_ms": ms}
            for name, ms in (("eager", 4.0), ("default", 2.0), ("max-autotune", 1.0), ("ours", 0.5))
        },
        "judged": {"seed": {"passed": True}, "equal": {"passed": False}, "verified": {"passed": True}},
        "floor": {"bytes_ms": 0.6},
    }
    score(row)
    judged = row["judged"]
    assert (judged["seed"]["baseline"], judged["seed"]["speedup"]) == ("default", 4.0)
    assert (judged["equal"]["baseline"], judged["equal"]["speedup"]) == ("max-autotune", 0.25)
    assert (judged["verified"]["baseline"], judged["verified"]["speedup"]) == ("eager", 8.0)
    assert "less than the device's least" in judged["seed"]["suspect"] and judged["equal"]["suspect"] == ""


def test_floor_counts_each_byte_once() -> None:
    with torch.device("meta"):
        found = floor.count(nn.Linear(64, 32), (torch.rand(8, 64),))
    assert found == {"bytes": 4 * (64 * 32 + 32 + 8 * 64 + 8 * 32), "flops": 2.0 * 8 * 64 * 32}
    timed = floor.timed(found, "NVIDIA H200", 1.0)
    assert timed["bytes_ms"] == pytest.approx(found["bytes"] / 4.8e9)
    assert timed["fraction"] == max(timed["bytes_ms"], timed["flops_ms"])
    assert "bytes_ms" not in floor.timed(found, "some other card", 1.0)


def test_half_keeps_the_interface_and_flags_come_back() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU())
    assert Half(model)(torch.rand(1, 3, 8, 8)).dtype == torch.float32
    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    with flags_of("eager_tf32"):
        assert torch.backends.cuda.matmul.allow_tf32 and torch.backends.cudnn.allow_tf32
    assert before == (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32)


def test_variants_hold_their_weights_once() -> None:
    base, other = nn.BatchNorm1d(4), nn.BatchNorm1d(4)
    shared = share_state(other, base)
    assert shared.weight is base.weight and shared.running_mean is base.running_mean
