"""The `cudaagent` command."""

from . import bench, profile
from .main import main

__all__ = ["bench", "main", "profile"]
