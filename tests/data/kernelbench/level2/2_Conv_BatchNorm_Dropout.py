import torch
from torch import nn


class Model(nn.Module):
    """A convolution with batch statistics and live dropout: as the harness runs it, in training mode."""

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels_out)
        self.dropout = nn.Dropout(0.25)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(torch.relu(self.norm(self.conv(x))))


batch, channels_in, channels_out, side = 4, 3, 16, 32


def get_inputs():
    return [torch.rand(batch, channels_in, side, side)]


def get_init_inputs():
    return [channels_in, channels_out]
