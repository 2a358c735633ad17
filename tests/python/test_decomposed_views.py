"""Views, copies and creation against eager; what stays extern."""

from __future__ import annotations

from typing import Any

import pytest
import rewriting
import torch
from decomposition_cases import ALL, FLOATS, Gen
from rewriting import Recorder, check, check_call

VIEWS: list[tuple[str, tuple[int, ...], tuple[Any, ...]]] = [
    ("aten::view", (2, 3, 4), ([6, 4],)),
    ("aten::view", (2, 3, 4), ([2, -1],)),
    ("aten::view", (2, 3, 4), ([2, 3, 4],)),
    ("aten::view", (0, 3), ([3, 0],)),
    ("aten::reshape", (2, 3, 4), ([4, 6],)),
    ("aten::_unsafe_view", (2, 3, 4), ([24],)),
    ("aten::flatten.using_ints", (2, 3, 4), (1,)),
    ("aten::flatten.using_ints", (), ()),
    ("aten::unflatten.int", (2, 12), (1, [3, -1])),
    ("aten::permute", (2, 3, 4), ([2, 0, -2],)),
    ("aten::transpose.int", (2, 3, 4), (0, -1)),
    ("aten::transpose.int", (), (0, -1)),
    ("aten::t", (2, 3), ()),
    ("aten::t", (3,), ()),
    ("aten::numpy_T", (2, 3, 4), ()),
    ("aten::mT", (2, 3, 4), ()),
    ("aten::swapaxes", (2, 3, 4), (0, 2)),
    ("aten::squeeze", (1, 3, 1), ()),
    ("aten::squeeze.dim", (1, 3, 1), (-1,)),
    ("aten::squeeze.dim", (1, 3, 1), (1,)),
    ("aten::squeeze.dims", (1, 3, 1), ([0, 2],)),
    ("aten::unsqueeze", (2, 3), (-1,)),
    ("aten::unsqueeze", (), (0,)),
    ("aten::expand", (3, 1), ([2, 3, 4],)),
    ("aten::expand", (3, 1), ([-1, 4],)),
    ("aten::broadcast_to", (1, 3), ([2, 3],)),
    ("aten::slice.Tensor", (2, 7), (1, 1, -1, 2)),
    ("aten::slice.Tensor", (2, 7), (-1, None, 100)),
    ("aten::slice.Tensor", (2, 7), (0, 1, 1)),
    ("aten::slice.Tensor", (2, 7), (1, -3)),
    ("aten::narrow", (2, 7), (1, 2, 3)),
    ("aten::select.int", (2, 7), (1, -1)),
    ("aten::select.int", (2, 7), (-2, 0)),
    ("aten::flip", (2, 3, 4), ([0, -1],)),
    ("aten::flip", (2, 3), ([],)),
    ("aten::fliplr", (2, 3), ()),
    ("aten::flipud", (2, 3), ()),
    ("aten::movedim.int", (2, 3, 4), (0, -1)),
    ("aten::movedim.intlist", (2, 3, 4, 5), ([0, 1], [-1, 0])),
    ("aten::chunk", (2, 7), (3, 1)),
    ("aten::chunk", (2, 4), (1, 1)),
    ("aten::split.Tensor", (2, 7), (3, -1)),
    ("aten::split_with_sizes", (2, 7), ([1, 4, 2], 1)),
    ("aten::split.sizes", (2, 7), ([1, 0, 6], 1)),
    ("aten::tensor_split.sections", (2, 7), (3, 1)),
    ("aten::unbind.int", (2, 3), (1,)),
    ("aten::diff", (2, 7), ()),
    ("aten::diff", (4, 3), (1, 0)),
    ("aten::diff", (2, 1), ()),
    ("aten::repeat", (2, 3), ([2, 1, 3],)),
    ("aten::repeat", (), ([2],)),
    ("aten::tile", (2, 3), ([2],)),
    ("aten::repeat_interleave.self_int", (2, 3), (2, 1)),
    ("aten::repeat_interleave.self_int", (2, 3), (2,)),
    ("aten::pixel_shuffle", (2, 8, 3, 2), (2,)),
    ("aten::pixel_unshuffle", (2, 2, 4, 6), (2,)),
    ("aten::channel_shuffle", (2, 6, 3, 2), (3,)),
    ("aten::tril", (2, 4, 5), (1,)),
    ("aten::triu", (4, 5), (-1,)),
    ("aten::clone", (2, 3), ()),
    ("aten::detach", (2, 3), ()),
    ("aten::alias", (2, 3), ()),
    ("aten::contiguous", (2, 3), ()),
    ("aten::dropout", (2, 3), (0.5, False)),
    ("aten::native_dropout", (2, 3), (0.5, False)),
    ("aten::ravel", (2, 3), ()),
    ("aten::zeros_like", (2, 3), ()),
    ("aten::ones_like", (2, 3), ()),
    ("aten::full_like", (2, 3), (1,)),
    ("aten::new_zeros", (2, 3), ([4],)),
    ("aten::new_ones", (2, 3), ([4, 0],)),
    ("aten::new_full", (2, 3), ([4], 2)),
    ("aten::glu", (2, 6), (1,)),
    ("aten::glu", (4, 3), (0,)),
    ("aten::atleast_2d", (3,), ()),
]


@pytest.mark.parametrize("op, shape, args", VIEWS, ids=lambda value: str(value).replace(" ", ""))
def test_view(op: str, shape: tuple[int, ...], args: tuple[Any, ...]) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        if "glu" in op and not dtype.is_floating_point:
            continue
        check_call(op, Gen(dtype).fill(shape, dtype), *args)


def test_diffs_that_stay_extern() -> None:
    x = torch.randn(2, 7)
    check_call("aten::diff", x, 2, extern=True)
    check_call("aten::diff", torch.randn(2, 0), extern=True)
    check_call("aten::diff", x, 1, -1, torch.zeros(2, 1), extern=True)


def test_broadcast_tensors() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        g = Gen(dtype)
        check_call("aten::broadcast_tensors", [g.fill((3, 1), dtype), g.fill((4,), dtype), g.fill((2, 1, 4), dtype)])


def test_views_of_other_layouts() -> None:
    x = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    check_call("aten::reshape", x, [2, 60])
    check_call("aten::reshape", x.permute(0, 2, 3, 1), [2, 20, 3])
    check_call("aten::contiguous", x)
    check_call("aten::contiguous", x, memory_format=torch.channels_last)
    check_call("aten::clone", x, memory_format=torch.contiguous_format)
    check_call("aten::clone", torch.randn(3, 4).t())


@pytest.mark.parametrize("to", ALL, ids=str)
@pytest.mark.parametrize("source", ALL, ids=str)
def test_conversion(source: torch.dtype, to: torch.dtype) -> None:
    x = Gen(source).fill((3, 4), source)
    if source.is_floating_point and to == torch.uint8:
        x = x.abs()
    check_call("aten::_to_copy", x, dtype=to)
    check_call("aten::to.dtype", x, to)
    check_call("aten::type_as", x, torch.zeros(1, dtype=to))


def test_prelu() -> None:
    for dtype in FLOATS:
        g = Gen(dtype, special=True)
        check_call("aten::prelu", g.fill((2, 4, 3), dtype), g.fill((4,), dtype))
        check_call("aten::prelu", g.fill((2, 4, 3), dtype), g.fill((1,), dtype))
        check_call("aten::prelu", g.fill((5,), dtype), g.fill((1,), dtype))


def test_creation() -> None:
    for call in (
        ("aten::zeros", [2, 3]),
        ("aten::ones", [2]),
        ("aten::full", [2, 3], 1.5),
        ("aten::full", [], 3),
        ("aten::scalar_tensor", 2.5),
        ("aten::arange", 5),
        ("aten::arange.start", 2, 9),
        ("aten::eye", 3),
        ("aten::eye.m", 2, 3),
        ("aten::arange.start_step", 2, 9, 3),
        ("aten::arange.start_step", 1.0, 2.0, 0.25),
        ("aten::arange", 4.0),
        ("aten::arange.start_step", 9, 2, -2),
    ):
        check_call(*call)
    for dtype in (*FLOATS, torch.int32):
        check_call("aten::arange", 7, dtype=dtype)
        check_call("aten::full", [2, 3], 2, dtype=dtype)
    check_call("aten::full", [2], True)
    check_call("aten::one_hot", torch.tensor([[0, 2], [1, 4]]), 5)


def test_number_in_a_tensor_slot() -> None:
    """arange(3) * 0.5 is float32; with a 0-dim double it is float64."""
    check_call("aten::mul.Tensor", torch.arange(3), 0.5)
    check_call("aten::mul.Tensor", torch.arange(3), torch.tensor(0.5, dtype=torch.float64))
    check_call("aten::mul.Tensor", torch.randn(3, dtype=torch.float16), torch.tensor(0.5, dtype=torch.float64))
    check_call("aten::add.Tensor", torch.tensor(3), torch.randn(3, dtype=torch.bfloat16))


def test_unsupported_dtypes_stay_extern() -> None:
    reply = check_call("aten::mul.Tensor", torch.randn(3, dtype=torch.complex64), 2.0, extern=True)
    assert reply["left"] == [[0, "complex64"]]
    reply = check_call("aten::mm", torch.randn(3, 3), torch.randn(3, 3), extern=True)
    assert reply["left"] == [[0, "no template for aten::mm"]]


def test_dropout_in_training_stays_extern() -> None:
    recorder = Recorder()
    recorder.output(recorder.call("aten::dropout", torch.randn(4), 0.5, True))
    assert rewriting.rewrite(recorder.document)["left"] == [[0, "random in training"]]


def test_chain_of_halves_rounds_as_eager_does_where_values_are_shared() -> None:
    recorder = Recorder()
    x = recorder.input(torch.randn(8, 16, dtype=torch.bfloat16))
    w = recorder.input(torch.randn(16, dtype=torch.bfloat16))
    residual = recorder.call("aten::add.Tensor", x, w)
    normed = recorder.call("aten::layer_norm", residual, [16], w, None, 1e-5)
    gated = recorder.call("aten::mul.Tensor", recorder.call("aten::silu", normed), residual)
    recorder.output(gated, residual)
    reply = check(recorder)
    assert any(name == "elide_conversions" for name, _, _ in reply["fired"])
