"""Whole networks: captured, rewritten, run primitive by primitive, compared with eager."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import prim_interpreter
import pytest
import rewriting
import torch
from torch import fx, nn

from torch_cudaagent import capture


class Rewritten:
    """A Dynamo backend that runs the rewritten graph; keeps what stayed extern."""

    def __init__(self) -> None:
        self.left: Counter[str] = Counter()
        self.reasons: list[str] = []

    def __call__(self, gm: fx.GraphModule, arguments: list[Any]) -> Callable[..., Any]:
        document = capture.capture(gm, capture.read_facts(gm), arguments)
        reply = rewriting.rewrite(document.graph)
        for node, why in reply["left"]:
            self.left[document.graph["nodes"][node]["op"]] += 1
            self.reasons.append(why)

        def run(*given: Any) -> list[Any]:
            inputs = [given[i] for i in document.sources] + document.constants
            outputs = prim_interpreter.run(reply["graph"], inputs)
            places = zip(document.returned, document.literals, strict=True)
            return [literal if place is None else outputs[place] for place, literal in places]

        return run


def check(model: nn.Module, *arguments: Any, extern: set[str], tolerance: float = 1e-4) -> Rewritten:
    backend = Rewritten()
    with torch.no_grad():
        wanted = model(*arguments)
        got = torch.compile(model, backend=backend)(*arguments)
    torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance)
    assert set(backend.left) <= extern, backend.left
    assert not any(why.startswith("bug") for why in backend.reasons), backend.reasons
    return backend


class Block(nn.Module):
    """A transformer block with its own attention arithmetic and a causal mask."""

    def __init__(self, width: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        mask = torch.tril(torch.ones(length, length, dtype=torch.bool, device=x.device))
        weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
        x = x + self.drop(self.out((weights @ v).transpose(1, 2).reshape(batch, length, width)))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


MATRIX = {"aten::linear", "aten::matmul", "aten::bmm", "aten::mm", "aten::addmm"}
CONVOLUTION = {"aten::conv2d", "aten::convolution", "aten::max_pool2d"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_transformer_block(dtype: torch.dtype) -> None:
    tolerance = 1e-4 if dtype == torch.float32 else 4e-2
    check(Block().eval().to(dtype), torch.randn(2, 6, 16, dtype=dtype), extern=MATRIX, tolerance=tolerance)


def test_channels_last_convolutions() -> None:
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3),
        nn.GroupNorm(2, 8),
        nn.SiLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 5),
        nn.LogSoftmax(dim=1),
    ).eval()
    x = torch.randn(2, 3, 12, 12)
    check(net, x, extern=MATRIX | CONVOLUTION)
    net, x = net.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    check(net, x, extern=MATRIX | CONVOLUTION)


def test_training_mode_keeps_batch_statistics_and_updates_buffers() -> None:
    net, twin = nn.BatchNorm1d(4), nn.BatchNorm1d(4)
    x = torch.randn(6, 4)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(net, backend=Rewritten())(x), twin(x))
    torch.testing.assert_close(net.running_mean, twin.running_mean)
    torch.testing.assert_close(net.num_batches_tracked, twin.num_batches_tracked)


class Losses(nn.Module):
    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        logits, target = x[:, :-1].reshape(-1, x.shape[-1]), labels[:, 1:].reshape(-1)
        similarity = nn.functional.cosine_similarity(x, x.flip(0), dim=-1)
        return nn.functional.cross_entropy(logits, target) + similarity.mean()


def test_language_model_loss() -> None:
    check(Losses(), torch.randn(2, 5, 7), torch.randint(0, 7, (2, 5)), extern=set())


def test_results_keep_memory_of_their_own() -> None:
    """What eager copies shares no memory with an input, what it views may."""

    class Copies(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            y = x.clone()
            return y, y.view(-1), x.t().contiguous(), x.flip(0), x + 0, (x * 1).view(-1)

    x = torch.randn(3, 4)
    with torch.no_grad():
        results = torch.compile(Copies(), backend=Rewritten())(x)
    for result in results:
        assert result.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
