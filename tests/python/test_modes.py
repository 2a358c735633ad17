"""Gradients, autocast, inference mode, determinism, threads, fork: the state a call runs in."""

from __future__ import annotations

import copy
import multiprocessing
import os
import threading

import pytest
import torch
from checks import assert_captured, assert_left_to_pytorch, assert_same, graphs
from torch import nn


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2))


def pair(optimize, module=None):
    module = module or net()
    return optimize(copy.deepcopy(module)), module


def test_gradients(optimize):
    fast, slow = pair(optimize)
    x = torch.randn(5, 4)
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    for module, given in zip((fast, slow), inputs, strict=True):
        module(given).square().sum().backward()
    assert_same(inputs[0].grad, inputs[1].grad)
    for one, other in zip(fast.parameters(), slow.parameters(), strict=True):
        assert_same(one.grad, other.grad)
    assert_left_to_pytorch(fast, "gradients")


def test_gradients_for_the_input_only(optimize):
    fast, slow = pair(optimize)
    for module in (fast, slow):
        module.requires_grad_(False)
    x = torch.randn(5, 4)
    one, other = x.clone().requires_grad_(), x.clone().requires_grad_()
    fast(one).sum().backward()
    slow(other).sum().backward()
    assert_same(one.grad, other.grad)


def test_second_derivative(optimize):
    fast = optimize(lambda x: x.sin() * x)
    x = torch.tensor(1.5, requires_grad=True)
    (first,) = torch.autograd.grad(fast(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    assert_same(second, 2 * x.detach().cos() - x.detach() * x.detach().sin())


def test_frozen_module_is_optimized_with_grad_mode_on(optimize):
    fast, slow = pair(optimize)
    fast.requires_grad_(False), slow.requires_grad_(False)
    x = torch.randn(5, 4)
    assert_same(fast(x), slow(x))
    assert_captured(fast)


def test_grad_then_no_grad_then_grad(optimize):
    fast, slow = pair(optimize)
    x = torch.randn(5, 4)
    for grad in (True, False, True, False):
        with torch.set_grad_enabled(grad):
            assert_same(fast(x), slow(x))


def test_no_grad_inside(optimize):
    def function(x, weight):
        with torch.no_grad():
            return (x @ weight).relu()

    fast = optimize(function)
    x, weight = torch.randn(3, 4), torch.randn(4, 2, requires_grad=True)
    assert_same(fast(x, weight), function(x, weight))
    assert_captured(fast)


def test_enable_grad_inside_no_grad(optimize):
    def function(x):
        with torch.enable_grad():
            return x * 2

    fast = optimize(function)
    with torch.no_grad():
        x = torch.randn(3, requires_grad=True)
        assert fast(x).requires_grad
        assert_same(fast(x), function(x))


def test_inference_mode(optimize):
    fast, slow = pair(optimize)
    x = torch.randn(5, 4)
    with torch.inference_mode():
        got = fast(x)
        assert got.is_inference()
        assert_same(got, slow(x))
        again = torch.randn(5, 4)
        assert_same(fast(again), slow(again))
    with torch.no_grad():
        assert_same(fast(x), slow(x))
    assert_captured(fast)


def test_inference_tensors_as_weights(optimize):
    with torch.inference_mode():
        fast, slow = pair(optimize)
        x = torch.randn(5, 4)
        assert_same(fast(x), slow(x))


def test_autocast_around(optimize):
    fast, slow = pair(optimize)
    x = torch.randn(5, 4)
    with torch.no_grad():
        assert_same(fast(x), slow(x))
        with torch.autocast("cpu", torch.bfloat16):
            wanted = slow(x)
            assert wanted.dtype is torch.bfloat16
            assert_same(fast(x), wanted, rtol=2e-2, atol=2e-2)
        assert_same(fast(x), slow(x))
    assert_captured(fast, count=2)


def test_autocast_inside(optimize):
    linear = nn.Linear(4, 3)

    def function(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = linear(x)
            with torch.autocast("cpu", enabled=False):
                z = linear(x)
        return y, y.float().softmax(-1), z

    fast = optimize(function)
    x = torch.randn(5, 4)
    with torch.no_grad():
        assert_same(fast(x), function(x), rtol=2e-2, atol=2e-2)
        assert_same(fast(x)[2], function(x)[2])
    assert_captured(fast)


def test_autocast_with_gradients(optimize):
    fast, slow = pair(optimize)
    x = torch.randn(5, 4)
    with torch.autocast("cpu", torch.bfloat16):
        assert_same(fast(x), slow(x), rtol=2e-2, atol=2e-2)


def test_deterministic_algorithms(optimize):
    fast, slow = pair(optimize)
    x = torch.randn(5, 4)
    torch.use_deterministic_algorithms(True)
    try:
        with torch.no_grad():
            first = fast(x)
            assert_same(first, slow(x))
            assert torch.equal(first, fast(x))
    finally:
        torch.use_deterministic_algorithms(False)


def test_deterministic_fill_of_empty(optimize):
    def function(x):
        return torch.empty_like(x).fill_(3) + x

    fast = optimize(function)
    torch.use_deterministic_algorithms(True)
    try:
        with torch.no_grad():
            assert_same(fast(torch.zeros(4)), torch.full((4,), 3.0))
    finally:
        torch.use_deterministic_algorithms(False)


def test_several_threads(optimize):
    fast, slow = pair(optimize)
    results, errors = {}, []

    def work(seed):
        try:
            generator = torch.Generator().manual_seed(seed)
            with torch.no_grad():
                for i in range(20):
                    x = torch.randn(3 + i % 2, 4, generator=generator)
                    results[seed, i] = (fast(x), slow(x))
        except Exception as error:  # handed to the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]
    assert len(results) == 80
    for got, wanted in results.values():
        assert_same(got, wanted)


def test_weights_replaced_while_other_threads_call(optimize):
    fast = optimize(nn.Linear(4, 4, bias=False))
    x = torch.eye(4)
    stop, errors = threading.Event(), []

    def work():
        with torch.no_grad():
            while not stop.is_set():
                got = fast(x)
                if not torch.all(got == got[0, 0]):
                    errors.append(got)

    with torch.no_grad():
        fast.weight.fill_(0)
        fast(x)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for value in range(1, 30):
            fast.weight = nn.Parameter(torch.full((4, 4), float(value)))
            assert torch.all(fast(x) == value)
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors, errors[0]


def _in_child(fast, x, wanted, queue):
    with torch.no_grad():
        queue.put(torch.allclose(fast(x), wanted, atol=1e-5))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork(optimize):
    fast, slow = pair(optimize)
    x = torch.randn(5, 4)
    with torch.no_grad():
        fast(x)
        wanted = slow(x)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(fast, x, wanted, queue))
    child.start()
    assert queue.get(timeout=120)
    child.join(30)
    assert child.exitcode == 0
    with torch.no_grad():
        assert_same(fast(x), wanted)


def test_default_dtype_and_num_threads(optimize):
    fast = optimize(lambda x: x + torch.ones(3))
    x = torch.zeros(3)
    with torch.no_grad():
        assert_same(fast(x), torch.ones(3))
        torch.set_default_dtype(torch.float64)
        try:
            assert_same(fast(x), x + torch.ones(3))
        finally:
            torch.set_default_dtype(torch.float32)


def test_dispatch_mode_around(optimize):
    from torch.utils.flop_counter import FlopCounterMode

    fast, slow = pair(optimize)
    x = torch.randn(5, 4)
    with torch.no_grad(), FlopCounterMode(display=False) as counted:
        got = fast(x)
    with torch.no_grad():
        assert_same(got, slow(x))
    assert counted.get_total_flops() >= 0


def test_vmap_and_functional_call(optimize):
    fast, slow = pair(optimize)
    weights = {name: p.detach() * 2 for name, p in slow.named_parameters()}
    x = torch.randn(5, 4)
    with torch.no_grad():
        assert_same(torch.func.functional_call(fast, weights, (x,)), torch.func.functional_call(slow, weights, (x,)))
        assert_same(torch.func.vmap(fast)(x), torch.func.vmap(slow)(x))
    assert len(graphs(fast)) >= 1
