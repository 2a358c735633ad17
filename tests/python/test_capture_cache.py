"""A graph met before is not exported again, and a graph that differs in anything that matters is."""

from __future__ import annotations

import copy

import pytest
import torch
from checks import assert_captured, assert_same
from torch import nn

from torch_cudaagent import capture, capture_cache


@pytest.fixture
def exports(monkeypatch):
    """Counts exports."""
    count = []
    real = capture.capture
    monkeypatch.setattr(capture, "capture", lambda *a: count.append(1) or real(*a))
    return count


@pytest.fixture
def fresh_optimize(optimize, tmp_path):
    def call(model, **options):
        torch._dynamo.reset()
        return optimize(model, cache_dir=str(tmp_path), **options)

    return call


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.2)

    def forward(self, x):
        x = self.drop(self.norm(self.fc(x)))[:, 1:]
        values, _ = torch.tensor([[3.0, 1.0, 2.0]]).sort()
        return {"out": x.relu() + values, "mask": x.masked_fill(x > 0, float("-inf")), "n": 3, "s": "t"}


def test_second_time_is_read(fresh_optimize, exports):
    net, x = Net(), torch.randn(5, 4)
    for training in (False, True):
        exports.clear()
        for _ in range(2):
            fast, slow = fresh_optimize(copy.deepcopy(net).train(training)), copy.deepcopy(net).train(training)
            with torch.no_grad():
                for _ in range(2):
                    torch.manual_seed(1)
                    got = fast(x)
                    torch.manual_seed(1)
                    assert_same(got, slow(x))
            assert_same(fast.state_dict(), slow.state_dict())
            assert_captured(fast)
        assert len(exports) == 1


@pytest.mark.parametrize("change", ["shape", "dtype", "stride", "shared", "autocast", "default_dtype", "code"])
def test_what_matters_is_in_the_key(fresh_optimize, exports, change):
    def function(x, y):
        return (x + y) * torch.ones(4)

    def other(x, y):
        return (x + y) * torch.ones(4) + 1

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    mode = torch.no_grad()
    with torch.no_grad():
        fresh_optimize(function)(x, y)
    match change:
        case "shape":
            x, y = torch.randn(2, 4), torch.randn(2, 4)
        case "dtype":
            x = x.double()
        case "stride":
            x = torch.randn(4, 3).t()
        case "shared":
            x = y.view(3, 4)
        case "autocast":
            mode = torch.autocast("cpu", torch.bfloat16)
        case "code":
            function = other
    default = torch.float64 if change == "default_dtype" else torch.float32
    torch.set_default_dtype(default)
    try:
        with torch.no_grad(), mode:
            assert_same(fresh_optimize(function)(x, y), function(x, y))
    finally:
        torch.set_default_dtype(torch.float32)
    assert len(exports) == 2


def test_names_of_weights_are_in_the_key(fresh_optimize, exports):
    class A(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x * self.first

    class B(nn.Module):
        def __init__(self):
            super().__init__()
            self.second = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x * self.second

    with torch.no_grad():
        for kind in (A, B, A):
            fresh_optimize(kind())(torch.ones(3))
    assert len(exports) == 2


def test_a_custom_operator_has_no_key(fresh_optimize, exports):
    @torch.library.custom_op("cudaagent_tests::keyless", mutates_args=())
    def keyless(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    keyless.register_fake(lambda x: torch.empty_like(x))
    with torch.no_grad():
        for _ in range(2):
            assert_same(fresh_optimize(lambda x: keyless(x) + 1)(torch.ones(3)), torch.full((3,), 3.0))
    assert len(exports) == 2


def test_recurrent_and_mutating_graphs_are_read(fresh_optimize, exports):
    lstm, x = nn.LSTM(4, 3), torch.randn(5, 2, 4)
    with torch.no_grad():
        for _ in range(2):
            assert_same(fresh_optimize(copy.deepcopy(lstm))(x), lstm(x))
            y = torch.zeros(3)
            fresh_optimize(lambda y: y.add_(1) * 2)(y)
            assert_same(y, torch.ones(3))
    assert len(exports) == 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
@pytest.mark.parametrize("shape", [(), (0,), (3, 4)])
def test_constants_round_trip(dtype, shape):
    constant = (torch.randn(shape) * 3).to(dtype)
    constant = constant.t() if constant.dim() == 2 else constant
    document = capture_cache.Document({}, [], [constant], [0, None], [None, 2.5])
    again = capture_cache._decode(capture_cache._encode(document))
    assert torch.equal(again.constants[0], constant) and again.constants[0].stride() == constant.stride()
    assert again.returned == [0, None] and again.literals == [None, 2.5]


def test_large_constants_are_not_kept():
    document = capture_cache.Document({}, [], [torch.zeros(1 << 20)], [], [])
    assert capture_cache._encode(document) is None
