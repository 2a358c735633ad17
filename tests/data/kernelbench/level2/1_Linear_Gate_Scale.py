import torch
from torch import nn


class Model(nn.Module):
    """A linear layer whose output gates itself, scaled by a learned factor."""

    def __init__(self, features_in: int, features_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(features_in, features_out)
        self.scale = nn.Parameter(torch.full((features_out,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        return y * torch.sigmoid(y) * self.scale


batch, features_in, features_out = 128, 256, 512


def get_inputs():
    return [torch.rand(batch, features_in)]


def get_init_inputs():
    return [features_in, features_out]
