"""The `cudaagent` command."""

from . import bench
from .main import main

__all__ = ["bench", "main"]
