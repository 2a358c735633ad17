import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """Self-attention and a feed-forward layer, each with its layer norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        split = self.project(self.before(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*split).transpose(1, 2).flatten(2)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.between(x))))


batch, tokens, width, heads = 2, 48, 64, 4


def get_inputs():
    return [torch.randn(batch, tokens, width)]


def get_init_inputs():
    return [width, heads]
