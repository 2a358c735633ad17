"""What goes in and comes out: layouts, views, aliases, structures, odd types and sizes."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import pytest
import torch
from checks import assert_captured, assert_left_to_pytorch, assert_same, check_module, graphs
from conftest import PYTHON_CORE
from torch import nn


class Call(nn.Module):
    """A module around a function, for one-line models."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments, **keywords):
        return self.function(*arguments, **keywords)


@dataclasses.dataclass
class Pair:
    first: torch.Tensor
    second: torch.Tensor
    label: str = "pair"


class Named(NamedTuple):
    value: torch.Tensor
    count: int


def test_tuple_list_and_nested_outputs(optimize):
    check_module(optimize, Call(lambda x: (x + 1, [x * 2, (x.sum(), None)], 3, "s")), torch.randn(3, 4))


def test_dict_output(optimize):
    check_module(optimize, Call(lambda x: {"a": x.relu(), "b": {"c": x.mean(0)}, "n": 2.5}), torch.randn(3, 4))


def test_dataclass_output(optimize):
    fast = optimize(Call(lambda x: Pair(x + 1, x.exp())))
    x = torch.randn(3, 4)
    with torch.no_grad():
        got = fast(x)
    assert type(got) is Pair and got.label == "pair"
    assert_same((got.first, got.second), (x + 1, x.exp()))
    assert_captured(fast)


def test_named_tuple_output(optimize):
    check_module(optimize, Call(lambda x: Named(x * 3, 7)), torch.randn(5))


def test_keyword_arguments_and_defaults(optimize):
    def function(x, *, scale, shift=None, flag=True):
        x = x * scale
        return x if shift is None else x + shift if flag else x - shift

    fast = optimize(Call(function))
    x, shift = torch.randn(4), torch.randn(4)
    with torch.no_grad():
        for keywords in ({"scale": 2}, {"scale": 2, "shift": shift}, {"scale": 0.5, "shift": shift, "flag": False}):
            assert_same(fast(x, **keywords), function(x, **keywords))
    assert_captured(fast)


@pytest.mark.parametrize("value", [0, 1, 7, -2, 0.5, True, False, float("inf"), 3 + 2j])
def test_numbers_as_inputs(optimize, value):
    check_module(optimize, Call(lambda x, v: x * v), torch.randn(4), value)


def test_changing_numbers_as_inputs(optimize):
    fast = optimize(Call(lambda x, v: x * v + v))
    x = torch.randn(4)
    with torch.no_grad():
        for value in (0.5, 0.7, 0.9, 2, 3, 4, 0.5):
            assert_same(fast(x, value), x * value + value)
    assert all(graph["why_eager"] is None for graph in graphs(fast))


def test_strings_and_none_as_inputs(optimize):
    def function(x, mode, other):
        y = x.relu() if mode == "relu" else x.tanh()
        return y if other is None else y + other

    fast = optimize(Call(function))
    x = torch.randn(4)
    with torch.no_grad():
        for mode, other in (("relu", None), ("tanh", None), ("tanh", x)):
            assert_same(fast(x, mode, other), function(x, mode, other))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0, 2)])
def test_zero_size(optimize, shape):
    check_module(optimize, Call(lambda x: (x.relu() + 1, x.sum(), torch.cat([x, x]))), torch.randn(shape))


def test_scalar_tensor(optimize):
    check_module(optimize, Call(lambda x: (x * 2, x[None].expand(3))), torch.tensor(1.5))


@pytest.mark.parametrize(
    "divide", [torch.floor_divide, torch.remainder, torch.fmod, lambda x, y: x // y, lambda x, y: x % y]
)
def test_integer_division_by_zero_raises_as_eager_does(optimize, divide):
    x, y = torch.arange(8), torch.tensor([1, -2, 3, 5, 1, 2, -3, 4])
    fast = optimize(Call(lambda x, y: divide(x * 3, y) + 1))
    with torch.no_grad():
        assert_same(fast(x, y), divide(x * 3, y) + 1)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            fast(x, torch.zeros_like(y))
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            optimize(Call(lambda x: divide(x * 3, 0) + 1))(x)
        # A divisor that is known keeps its kernel; floats divide by zero in silence.
        check_module(optimize, Call(lambda x: divide(x * 3, 7) + 1), x)
        check_module(optimize, Call(lambda x, y: divide(x * 3, y) + 1), x.float(), torch.zeros(8))


def test_zero_size_linear(optimize):
    check_module(optimize, nn.Linear(4, 3), torch.randn(0, 4))


def test_channels_last(optimize):
    module = (
        nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).eval().to(memory_format=torch.channels_last)
    )
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    check_module(optimize, module, x)
    check_module(optimize, Call(lambda x: x.relu() + 1), x)


def test_strided_inputs_and_outputs(optimize):
    base = torch.randn(6, 8)
    for x in (base.t(), base[::2], base[:, 1::3], base[2:, 2:], base[:, :1].expand(6, 5)):
        check_module(optimize, Call(lambda x: (x * 2, x.t() + 1, (x + 1)[:, ::2])), x)


def test_output_is_view_of_input(optimize):
    function = Call(lambda x: (x.t(), x[1:], x.view(-1), x + 1))
    fast = optimize(function)
    x = torch.randn(3, 4)
    with torch.no_grad():
        for _ in range(2):
            got = fast(x)
            assert_same(got, function(x))
            for view in got[:3]:
                assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
            got[1][0, 0] = 77
            assert x[1, 0] == 77
    assert_captured(fast)


def test_output_is_input(optimize):
    fast = optimize(Call(lambda x: (x, x.relu())))
    x = torch.randn(3)
    with torch.no_grad():
        assert fast(x)[0] is x


def test_outputs_that_share_storage(optimize):
    fast = optimize(Call(lambda x: ((y := x + 1), y.view(-1), y[0])))
    x = torch.randn(3, 4)
    with torch.no_grad():
        whole, flat, row = fast(x)
        assert_same((whole, flat, row), (x + 1, (x + 1).view(-1), (x + 1)[0]))
        whole[0, 0] = 5
        assert flat[0] == 5 and row[0] == 5


def test_parameter_as_output(optimize):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, 4))

        def forward(self, x):
            return x @ self.weight, self.weight.t()

    module = Tied()
    fast = optimize(module)
    with torch.no_grad():
        _, view = fast(torch.randn(2, 3))
    assert view.untyped_storage().data_ptr() == module.weight.untyped_storage().data_ptr()


def test_input_mutation(optimize):
    def function(x, y):
        x.add_(1)
        y[:, 0].mul_(2)
        return x * y

    fast = optimize(Call(function))
    for _ in range(2):
        x, y = torch.randn(3, 4), torch.randn(3, 4)
        x2, y2 = x.clone(), y.clone()
        version = x._version
        with torch.no_grad():
            assert_same((fast(x, y), x, y), (function(x2, y2), x2, y2))
        assert x._version > version
    assert_captured(fast)


def test_mutated_input_is_returned(optimize):
    fast = optimize(Call(lambda x: x.mul_(2).add_(1)))
    x = torch.randn(3)
    wanted = x * 2 + 1
    with torch.no_grad():
        got = fast(x)
    assert_same(got, wanted)
    assert_same(x, wanted)
    assert got.data_ptr() == x.data_ptr()


def test_view_of_mutated_input(optimize):
    fast = optimize(Call(lambda x: x.add_(1)[1:]))
    x = torch.randn(3)
    wanted = x + 1
    with torch.no_grad():
        got = fast(x)
    assert_same(x, wanted)
    got[0] = 9
    assert x[1] == 9
    assert_left_to_pytorch(fast, "view of an input")


@pytest.mark.skipif(PYTHON_CORE, reason="the guard is the runtime's")
def test_overlapping_inputs(optimize):
    def function(x, y):
        x.add_(10)
        return y * 1

    fast = optimize(Call(function))
    with torch.no_grad():
        fast(torch.zeros(4), torch.zeros(4))
        base, eager = torch.arange(5.0), torch.arange(5.0)
        assert_same(fast(base[:4], base[1:]), function(eager[:4], eager[1:]))
        assert_same(base, eager)


def test_same_tensor_twice(optimize):
    fast = optimize(Call(lambda x, y: x * 2 + y))
    x, y = torch.randn(4), torch.randn(4)
    with torch.no_grad():
        assert_same(fast(x, y), x * 2 + y)
        assert_same(fast(x, x), x * 3)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_float_types(optimize, dtype):
    check_module(optimize, Call(lambda x: (x * 2 + 1, x.float().mean(), x.abs())), torch.randn(4, 5).to(dtype))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool])
def test_integer_types(optimize, dtype):
    x = torch.randint(0, 2 if dtype is torch.bool else 100, (4, 5)).to(dtype)
    check_module(optimize, Call(lambda x: (x + x, x * 0.5, x.sum(), x > 1, x.float())), x)


def test_complex(optimize):
    x = torch.randn(4, 6, dtype=torch.complex64)
    check_module(optimize, Call(lambda x: (x * 2j, x.conj() * x, x.abs(), torch.view_as_real(x * 1), x.real + 1)), x)
    check_module(optimize, Call(lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2)), torch.randn(4, 8))


def test_conjugate_as_output(optimize):
    fast = optimize(Call(lambda x: (x * 2).conj()))
    x = torch.randn(4, dtype=torch.complex64)
    with torch.no_grad():
        assert_same(fast(x).resolve_conj(), (x * 2).conj().resolve_conj())


def test_constants(optimize):
    def function(x):
        return x + torch.tensor([1.0, 2.0, 3.0]) + torch.ones(3) + torch.arange(3) * 0.5

    check_module(optimize, Call(function), torch.randn(2, 3))


def test_infinite_arguments(optimize):
    check_module(optimize, Call(lambda x: x.masked_fill(x > 0, float("-inf")).softmax(-1)), torch.randn(3, 4) - 1)


def test_several_outputs_of_an_operator(optimize):
    def function(x):
        values, indices = x.topk(2)
        first, *rest = x.split([1, 2, 1], -1)
        return values, indices, first, rest[1], x.max(-1).indices, x.unbind(0)[1]

    check_module(optimize, Call(function), torch.randn(3, 4))


def test_sparse_input_stays_with_pytorch(optimize):
    fast = optimize(Call(lambda x, y: torch.sparse.mm(x, y)))
    x, y = torch.eye(3).to_sparse(), torch.randn(3, 2)
    with torch.no_grad():
        assert_same(fast(x, y), y)


def test_random_numbers_follow_the_generator(optimize):
    module = Call(lambda x: nn.functional.dropout(x, 0.5) + torch.rand_like(x))
    fast = optimize(Call(module.function))
    x = torch.ones(100)
    with torch.no_grad():
        for seed in (1, 2):
            torch.manual_seed(seed)
            got, after = fast(x), torch.rand(3)
            torch.manual_seed(seed)
            assert_same((got, after), (module(x), torch.rand(3)))
    assert_captured(fast)


def test_unused_random_draw_moves_the_generator(optimize):
    def function(x):
        torch.rand(7)
        return x + 1

    fast = optimize(Call(function))
    x = torch.ones(3)
    with torch.no_grad():
        torch.manual_seed(3)
        fast(x)
        got = torch.rand(2)
        torch.manual_seed(3)
        function(x)
        assert_same(got, torch.rand(2))


def test_shapes_that_change(optimize):
    module = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).eval()
    fast = optimize(module)
    reference = nn.Sequential(*module)
    with torch.no_grad():
        for length in (3, 5, 7, 5, 5, 5, 9, 3, 5):
            x = torch.randn(length, 4)
            assert_same(fast(x), reference(x))
    seen = graphs(fast)
    assert len(seen) == 2, "one static graph, then one for every shape"
    assert len(seen[1]["programs"]) == 1, "length 5 came back often enough"


def test_sizes_as_outputs(optimize):
    fast = optimize(Call(lambda x: (x * x.shape[0], x.shape[0], x.view(x.shape[0] * x.shape[1]))), dynamic=True)
    with torch.no_grad():
        for _ in range(4):
            for rows in (3, 5):
                x = torch.randn(rows, 4)
                assert_same(fast(x), (x * rows, rows, x.view(-1)))


def test_a_view_of_an_input_is_a_tensor_of_its_own(optimize):
    x = torch.randn(4, 4, requires_grad=True)
    for function in (lambda x: x.detach(), lambda x: x.detach().view(4, 4)):
        got = optimize(function)(x)
        assert got is not x and not got.requires_grad and got.data_ptr() == x.data_ptr()
    detached, doubled = optimize(lambda x: (x.detach(), x.detach() * 2))(x)
    assert not detached.requires_grad and not doubled.requires_grad


def test_out_among_inputs_of_one_storage(optimize):
    buffer = torch.arange(64.0)
    x, y = buffer[:16], buffer[32:48]
    got = optimize(lambda x, y: torch.exp(x, out=y))(x, y)
    assert_same(got, torch.exp(x))
    assert_same(y, torch.exp(x))
    assert torch.equal(x, torch.arange(16.0))


def test_a_view_of_memory_that_inputs_share_stays_with_pytorch(optimize):
    buffer = torch.arange(64.0)
    fast = optimize(lambda x, y: (x + y, x[2:5]))
    total, part = fast(buffer[:16], buffer[8:24])
    assert_same(total, buffer[:16] + buffer[8:24])
    assert part.data_ptr() == buffer[2:].data_ptr()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_numbers_compared_with_short_floats(optimize, dtype, name):
    compare = getattr(torch, name)
    for number in (0.1, 0.3, 1e-3, 3.3333, -0.7):
        near = torch.full((16,), number).to(dtype)
        x = torch.cat([near, near * 1.01, near * 0.99])
        with torch.no_grad():
            assert_same(optimize(lambda x, number=number: compare(x, number))(x), compare(x, number))


@pytest.mark.parametrize("wrong", [10, -1, 10**12])
def test_a_class_index_that_is_none_is_an_error(optimize, wrong):
    x, good = torch.randn(6, 10), torch.tensor([0, 9, 3, -100, 1, 2])
    bad = torch.tensor([0, 9, 3, wrong, 1, 2])
    losses = [
        lambda x, t: nn.functional.cross_entropy(x, t),
        lambda x, t: nn.functional.nll_loss(x.log_softmax(-1), t),
        lambda x, t: nn.functional.cross_entropy(x, t, label_smoothing=0.1),
    ]
    with torch.no_grad():
        for loss in losses:
            fast = optimize(loss)
            assert_same(fast(x, good), loss(x, good))
            with pytest.raises(IndexError):
                fast(x, bad)
            strided = torch.stack([good, bad], 1)
            assert_same(optimize(loss)(x, strided[:, 0]), loss(x, good))
            with pytest.raises(IndexError):
                optimize(loss)(x, strided[:, 1])
            assert_same(fast(x, good), loss(x, good))


def test_one_hot_of_a_class_that_is_none_is_an_error(optimize):
    fast = optimize(lambda t: nn.functional.one_hot(t, 10) * 2)
    with torch.no_grad():
        assert_same(fast(torch.tensor([3, 9])), nn.functional.one_hot(torch.tensor([3, 9]), 10) * 2)
        for wrong in (10, -1):
            with pytest.raises(RuntimeError, match="Class values must be"):
                fast(torch.tensor([3, wrong]))
