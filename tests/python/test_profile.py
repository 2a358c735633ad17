"""cudaagent.profile on the CPU: counts against PyTorch's own, times that add up, tables, traces, scripts."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import torch_cudaagent as cudaagent
from torch_cudaagent.profiling import ceilings
from torch_cudaagent.profiling.script import run_script

PRODUCTS = {
    "linear": (nn.Linear(24, 40), (5, 7, 24)),
    "conv1d": (nn.Conv1d(8, 16, 3, padding=1), (2, 8, 30)),
    "conv2d": (nn.Conv2d(8, 16, 3, stride=2, groups=4), (2, 8, 15, 17)),
    "conv3d": (nn.Conv3d(4, 6, 3), (1, 4, 6, 7, 8)),
    "transposed": (nn.ConvTranspose2d(8, 12, 4, stride=2, groups=2), (2, 8, 9, 9)),
}
CALLS: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "matmul": (torch.matmul, [(3, 5, 8), (3, 8, 9)]),
    "mm": (torch.mm, [(5, 8), (8, 9)]),
    "addmm": (torch.addmm, [(9,), (5, 8), (8, 9)]),
    "baddbmm": (torch.baddbmm, [(3, 5, 9), (3, 5, 8), (3, 8, 9)]),
    "einsum": (lambda x, y: torch.einsum("bij,bjk->bik", x, y), [(3, 5, 8), (3, 8, 9)]),
    "attention": (F.scaled_dot_product_attention, [(2, 4, 10, 8), (2, 4, 12, 8), (2, 4, 12, 6)]),
}


def take(model: Any, *inputs: torch.Tensor, **options: Any) -> cudaagent.Profile:
    return cudaagent.profile(model, *inputs, **({"seconds": 0.1} | options))


@pytest.fixture(autouse=True)
def quick_ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {"bytes_per_second": 1e10, "products_per_second": {"float32": 1e11}}
    monkeypatch.setattr("torch_cudaagent.profiling.profiler.ceilings", lambda device, folder: rates)


def counted_by_torch(call: Any, *inputs: torch.Tensor) -> float:
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        call(*inputs)
    return counter.get_total_flops()


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_layers_are_counted_as_torch_counts_them(name: str) -> None:
    layer, shape = PRODUCTS[name]
    x = torch.randn(shape)
    assert sum(node.flops for node in take(layer, x).nodes) == counted_by_torch(layer, x)


@pytest.mark.parametrize("name", CALLS)
def test_products_of_functions_are_counted_as_torch_counts_them(name: str) -> None:
    call, shapes = CALLS[name]
    inputs = [torch.randn(shape) for shape in shapes]
    assert sum(node.flops for node in take(lambda *xs: call(*xs), *inputs).nodes) == counted_by_torch(call, *inputs)


def test_a_recurrent_layer_meets_each_weight_at_each_step() -> None:
    layer = nn.LSTM(8, 16, num_layers=2, bidirectional=True, batch_first=True)
    found = take(lambda x: layer(x)[0], torch.randn(3, 11, 8))
    (node,) = [node for node in found.nodes if node.op.startswith("aten::lstm")]
    matrices = sum(weight.numel() for weight in layer.parameters() if weight.dim() == 2)
    assert node.flops == 2 * 3 * 11 * matrices


def test_bytes_are_those_of_the_tensors() -> None:
    x, y = torch.randn(64, 32), torch.randn(32)
    (node,) = take(lambda x, y: x * y, x, y).nodes
    assert (node.read_bytes, node.written_bytes) == (4 * (64 * 32 + 32), 4 * 64 * 32)
    assert node.floor_us == pytest.approx((node.read_bytes + node.written_bytes) / 1e10 * 1e6)


def network() -> nn.Module:
    layers = [nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 256)]
    return nn.Sequential(*layers).eval()


def test_times_add_up_to_a_call() -> None:
    found = take(network(), torch.randn(512, 256), seconds=0.6)
    assert [node.op for node in found.nodes] == ["aten::linear", "aten::gelu", "aten::layer_norm", "aten::linear"]
    assert all(node.time_us > 0 and node.floor_us > 0 for node in found.nodes)
    assert 0.3 < found.nodes_us / found.wall_us < 3
    assert found.collector == "CPU timers" and found.left == [] and found.device == "cpu"
    text = str(found)
    assert "linear" in text and "of roofline" in text and "a call" in text


def test_the_model_and_its_inputs_stay_as_they_were() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.norm(x).relu_()

    model, x = Counting().eval(), torch.randn(16, 8)
    before, kept = {k: v.clone() for k, v in model.state_dict().items()}, x.clone()
    optimized = cudaagent.optimize(model)
    assert len(take(optimized, x).nodes) == 2
    assert torch.equal(x, kept) and all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    assert hasattr(optimized, "_cudaagent")


def test_a_graph_that_cannot_be_seen_into_is_told() -> None:
    class Own(torch.Tensor):
        pass

    found = take(lambda x: x * 2, torch.randn(4).as_subclass(Own))
    assert found.nodes == [] and "Own" in found.left[0] and "not seen into" in str(found)


def test_the_trace_is_one_that_perfetto_reads(tmp_path: pathlib.Path) -> None:
    found = take(network(), torch.randn(8, 256))
    found.chrome_trace(tmp_path / "trace.json")
    document = json.loads((tmp_path / "trace.json").read_text())
    spans = [event for event in document["traceEvents"] if event["ph"] == "X"]
    assert [span["name"] for span in spans] == [node.op for node in found.nodes]
    ends = [span["ts"] + span["dur"] for span in spans]
    assert all(span["ts"] == pytest.approx(end) for span, end in zip(spans[1:], ends, strict=False))
    with pytest.raises(cudaagent.UserError, match="Cannot write"):
        found.chrome_trace(tmp_path / "missing" / "trace.json")


def test_json_holds_everything() -> None:
    found = take(network(), torch.randn(8, 256))
    document = json.loads(found.to_json())
    assert len(document["nodes"]) == 4 and document["nodes_us"] == pytest.approx(found.nodes_us)


def test_an_error_of_the_model_is_its_own() -> None:
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        take(network(), torch.randn(8, 3))
    with pytest.raises(cudaagent.UserError, match=r"takes a torch\.nn\.Module or a function"):
        cudaagent.profile(3)
    with pytest.raises(cudaagent.UserError, match="CPU and on CUDA"):
        take(lambda x: x + 1, torch.ones(3, device="meta"))


def test_ceilings_are_measured_once_and_kept(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(ceilings, "measure", lambda device: asked.append(device) or {"bytes_per_second": 1.0})
    for _ in range(2):
        assert ceilings.ceilings("cpu", tmp_path) == {"bytes_per_second": 1.0}
    assert asked == ["cpu"]
    (tmp_path / "ceilings.json").write_text("{damaged")
    assert ceilings.ceilings("cpu", tmp_path) and len(asked) == 2


def test_measured_ceilings_are_rates_of_a_real_machine() -> None:
    rates = ceilings.measure("cpu")
    assert 1e8 < rates["bytes_per_second"] < 1e13
    assert rates["products_per_second"]["float32"] > rates["products_per_second"]["float64"] * 0.8 > 1e8


SCRIPT = """
import sys, torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)
    def forward(self, x, scale=1.0):
        return torch.relu(self.inner(x)) * scale
if __name__ == "__main__":
    net = Net()
    for _ in range(int(sys.argv[1])):
        net(torch.randn(4, 8), scale=2.0)
    sys.exit(0)
"""


def test_a_script_is_watched(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "serve.py"
    script.write_text(SCRIPT)
    (seen,) = run_script(str(script), ["3"])
    assert (type(seen.module).__name__, seen.calls, seen.keywords) == ("Net", 3, {"scale": 2.0})
    assert [node.op for node in take(seen.call(), *seen.arguments).nodes] == [
        "aten::linear",
        "aten::relu",
        "aten::mul.Tensor",
    ]


def test_the_command(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "serve.py"
    script.write_text(SCRIPT)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "torch_cudaagent.cli", "profile", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    options = ["--device", "cpu", "--seconds", "0.1", "--cache-dir", str(tmp_path / "store")]
    done = run(*options, "--trace", str(tmp_path / "trace.json"), str(script), "3")
    assert done.returncode == 0 and "linear" in done.stdout and "Net: 3 calls" in done.stderr, done.stderr
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    done = run(*options, "--json", "--input", "4x8", f"{script}:Net")
    assert len(json.loads(done.stdout)["nodes"]) == 3, done.stderr
    done = run(str(tmp_path / "none.py"))
    assert done.returncode == 2 and "There is no file" in done.stderr and "Traceback" not in done.stderr
