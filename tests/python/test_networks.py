"""Whole networks, small: what people run through a library like this."""

from __future__ import annotations

import pytest
import torch
from checks import assert_captured, assert_same, check_module, graphs
from torch import nn


def test_lstm_stays_whole(optimize):
    class Classifier(nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.rnn = kind(4, 5, num_layers=2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(10, 3)

        def forward(self, x):
            return self.head(self.rnn(x)[0][:, -1])

    for kind, name in ((nn.LSTM, "lstm.input"), (nn.GRU, "gru.input"), (nn.RNN, "rnn_tanh.input")):
        torch._dynamo.reset()
        fast = check_module(optimize, Classifier(kind).eval(), torch.randn(3, 20, 4))
        nodes = [op for report in graphs(fast)[0]["programs"] for region in report["regions"] for op in region["nodes"]]
        assert nodes.count(f"aten::{name}") == 1 and len(nodes) < 12


def test_packed_sequence(optimize):
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(4, 5)

        def forward(self, packed):
            return self.rnn(packed)[0].data * 2

    packed = nn.utils.rnn.pack_sequence([torch.randn(5, 4), torch.randn(3, 4)])
    module = Packed()
    fast = optimize(module)
    with torch.no_grad():
        assert_same(fast(packed), module.rnn(packed)[0].data * 2)


def test_lstm_with_projection_and_state(optimize):
    lstm = nn.LSTM(4, 6, proj_size=3, num_layers=2)
    check_module(optimize, lstm, torch.randn(5, 2, 4), (torch.randn(2, 2, 3), torch.randn(2, 2, 6)))


def test_attention(optimize):
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    check_module(optimize, layer, torch.randn(2, 5, 16))


def test_convolutions(optimize):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
            self.up = nn.Sequential(nn.ConvTranspose2d(8, 4, 2, 2), nn.GroupNorm(2, 4), nn.SiLU())
            self.head = nn.Conv2d(7, 2, 1)

        def forward(self, x):
            return self.head(torch.cat([self.up(self.down(x)), x], 1)).log_softmax(1)

    net = Net()
    check_module(optimize, net.eval(), torch.randn(2, 3, 8, 8))
    check_module(optimize, net.train(), torch.randn(2, 3, 8, 8))


@pytest.mark.parametrize("training", [False, True])
def test_resnet18(optimize, training):
    models = pytest.importorskip("torchvision.models")
    net = models.resnet18(weights=None).train(training)
    with torch.no_grad():
        check_module(optimize, net, torch.randn(2, 3, 64, 64))


def gpt2():
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(
        n_layer=2, n_head=2, n_embd=16, vocab_size=50, n_positions=64, bos_token_id=0, eos_token_id=49, pad_token_id=49
    )
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(config).eval()


def test_gpt2_forward(optimize):
    slow, fast = gpt2(), optimize(gpt2())
    tokens = torch.randint(0, 49, (2, 7))
    with torch.no_grad():
        assert_same(fast(tokens, use_cache=False).logits, slow(tokens, use_cache=False).logits)
        got = fast(tokens)
        assert type(got) is type(slow(tokens))
        assert_same(got.logits, slow(tokens).logits)


@pytest.mark.parametrize("how", [{}, {"num_beams": 2}, {"do_sample": True}])
def test_gpt2_generate(optimize, how):
    slow, fast = gpt2(), optimize(gpt2())
    tokens = torch.randint(0, 49, (1, 5))
    for _ in range(2):
        torch.manual_seed(1)
        wanted = slow.generate(tokens, max_new_tokens=8, **how)
        torch.manual_seed(1)
        assert torch.equal(fast.generate(tokens, max_new_tokens=8, **how), wanted)


def test_bert(optimize):
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, vocab_size=50
    )
    module = transformers.BertModel(config).eval()
    tokens, mask = torch.randint(0, 50, (2, 7)), torch.ones(2, 7, dtype=torch.long)
    mask[1, 4:] = 0
    fast = optimize(module)
    with torch.no_grad():
        got = fast(tokens, attention_mask=mask).last_hidden_state
        reference = transformers.BertModel(config).eval()
        reference.load_state_dict(module.state_dict())
        assert_same(got, reference(tokens, attention_mask=mask).last_hidden_state)
    assert_captured(fast)
