"""The CUDA path without a GPU: real models captured on fake CUDA tensors, generated and compiled by NVRTC."""

from __future__ import annotations

import pytest
import torch
from conftest import PYTHON_CORE
from torch import nn

from benchmarks.models import MODELS
from torch_cudaagent import library
from torch_cudaagent.offline import capture_for, compile_for


def operators(document):
    return [node["op"] for node in document.graph["nodes"]]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_stay_whole(kind):
    (document,) = capture_for(nn.Sequential(kind(8, 16, num_layers=2, bidirectional=True)), [torch.randn(100, 4, 8)])
    wanted = {nn.LSTM: "aten::lstm.input", nn.GRU: "aten::gru.input", nn.RNN: "aten::rnn_tanh.input"}[kind]
    assert operators(document).count(wanted) == 1 and len(operators(document)) < 6
    assert {value["device"] for value in document.graph["values"]} == {"cuda:0"}


def test_graph_breaks_go_on():
    class Broken(nn.Module):
        def forward(self, x):
            x = x.relu()
            torch._dynamo.graph_break()
            return x + 1

    assert [operators(d) for d in capture_for(Broken(), [torch.randn(3)])] == [
        ["aten::relu"],
        ["aten::add.Tensor"],
    ]


def test_tied_weights_and_the_original_are_left_alone():
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    module[1].weight = module[0].weight
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    (document,) = capture_for(module, [torch.randn(3, 4)])
    assert sum(entry["kind"] == "parameter" for entry in document.graph["inputs"]) == 3
    assert all(type(p) is nn.Parameter and p.device.type == "cpu" for p in module.parameters())
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


@pytest.mark.skipif(PYTHON_CORE, reason="the interpreter compiles nothing")
@pytest.mark.skipif(library.find_nvrtc() is None, reason="no NVRTC here")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_acceptance_models_compile_for_hopper(model):
    reports = compile_for(model.make(), model.inputs("cpu", torch.float32), "sm_90a")
    kernels = [region for report in reports for region in report["regions"] if region["kind"] == "generated"]
    assert kernels, "nothing was generated"
    for region in kernels:
        assert "rejection" not in region, region["rejection"]
        assert region["resources"], "the compiler said nothing of its kernels"
        for kernel in region["resources"]:
            assert kernel["registers"] > 0 and kernel["spill_bytes"] == 0, (region["name"], kernel)
