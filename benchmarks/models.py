"""The models of the acceptance tests: random weights, small configurations, nothing downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


class LstmClassifier(nn.Module):
    """Embedding, two LSTM layers, mean over time, softmax over classes."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 64)
        self.lstm = nn.LSTM(64, 128, num_layers=2, batch_first=True)
        self.norm = nn.LayerNorm(128)
        self.head = nn.Linear(128, 10)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.lstm(self.embedding(tokens))
        return torch.log_softmax(self.head(self.norm(states.mean(1))), -1)


def conv_block(channels_in: int, channels_out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(inplace=True),
        nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    """Three levels down and up, with skip connections."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.down = nn.ModuleList(
            [conv_block(3, width), conv_block(width, 2 * width), conv_block(2 * width, 4 * width)]
        )
        self.up = nn.ModuleList(
            [nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2), nn.ConvTranspose2d(2 * width, width, 2, stride=2)]
        )
        self.merge = nn.ModuleList([conv_block(4 * width, 2 * width), conv_block(2 * width, width)])
        self.head = nn.Conv2d(width, 4, 1)

    def forward(self, image: Tensor) -> Tensor:
        skips = []
        x = image
        for level, block in enumerate(self.down):
            x = block(x)
            if level < 2:
                skips.append(x)
                x = torch.max_pool2d(x, 2)
        for up, merge in zip(self.up, self.merge, strict=True):
            x = merge(torch.cat([up(x), skips.pop()], 1))
        return torch.sigmoid(self.head(x))


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(256, 512),
        nn.GELU(),
        nn.LayerNorm(512),
        nn.Linear(512, 512),
        nn.SiLU(),
        nn.Linear(512, 10),
        nn.Softmax(-1),
    )


def torchvision_model(name: str) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        import torchvision

        net = getattr(torchvision.models, name)(weights=None)
        for parameter in net.parameters():
            # A head of zeros, as vit_b_16 has it, would hide every error behind it.
            if parameter.dim() > 1 and not parameter.any():
                nn.init.normal_(parameter, std=0.02)
        return net

    return build


def bert() -> nn.Module:
    from transformers import BertConfig, BertModel

    return BertModel(
        BertConfig(
            vocab_size=1000,
            hidden_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=512,
            max_position_embeddings=128,
        )
    )


def gpt2() -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=1000,
            n_embd=128,
            n_layer=2,
            n_head=4,
            n_positions=128,
            bos_token_id=0,
            eos_token_id=0,
            use_cache=False,
        )
    )


def image(batch: int, size: int) -> Callable[[str, torch.dtype], tuple[Any, ...]]:
    return lambda device, dtype: (torch.randn(batch, 3, size, size, device=device, dtype=dtype),)


def tokens(batch: int, length: int) -> Callable[[str, torch.dtype], tuple[Any, ...]]:
    return lambda device, dtype: (torch.randint(0, 1000, (batch, length), device=device),)


@dataclass(frozen=True)
class Model:
    """A network and its example inputs, by device and floating dtype."""

    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[str, torch.dtype], tuple[Any, ...]]

    def make(self, device: str = "cpu", dtype: torch.dtype = torch.float32, seed: int = 0) -> nn.Module:
        torch.manual_seed(seed)
        return self.build().to(device=device, dtype=dtype).eval()


MODELS: tuple[Model, ...] = (
    Model("mlp", mlp, lambda device, dtype: (torch.randn(64, 256, device=device, dtype=dtype),)),
    Model("lstm_classifier", LstmClassifier, tokens(8, 32)),
    Model("unet", UNet, image(2, 64)),
    Model("bert", bert, tokens(4, 64)),
    Model("gpt2", gpt2, tokens(2, 64)),
    Model("resnet18", torchvision_model("resnet18"), image(2, 128)),
    Model("mobilenet_v3_small", torchvision_model("mobilenet_v3_small"), image(2, 128)),
    Model("vit_b_16", torchvision_model("vit_b_16"), image(1, 224)),
)
BY_NAME: dict[str, Model] = {model.name: model for model in MODELS}
