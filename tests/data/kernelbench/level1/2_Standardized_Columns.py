import torch
from torch import nn


class Model(nn.Module):
    """Columns without their mean, over their deviation."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x - x.mean(0)) / (x.std(0) + 1e-6)


rows, columns = 1024, 512


def get_inputs():
    return [torch.rand(rows, columns)]


def get_init_inputs():
    return []
