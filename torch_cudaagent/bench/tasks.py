"""What a worker is given to measure: a KernelBench problem or a user's model, built afresh as often as asked."""

from __future__ import annotations

import copy
import dataclasses
import pathlib
from typing import Any, Protocol

import torch
from torch import nn

from .problems import load_problem
from .row import Mode

WEIGHTS_SEED = 42  # KernelBench's own


@dataclasses.dataclass(frozen=True)
class Task:
    """One row to be: a value that travels to the worker's process."""

    name: str  # "level1/19_ReLU", or MODULE:FACTORY
    level: int  # 0 for a user's model
    mode: Mode
    path: str = ""  # of the problem's file; empty for a user's model
    cap: int | None = None  # sizes among a problem's constants are at most that
    inputs: tuple[str, ...] = ()  # of a user's model, as on the command line
    sentinel: bool = False


class Subject(Protocol):
    """Makes equal models, and inputs that depend on a seed alone, on its device.

    That device is torch's default only while something is made: as a default it is a mode that every call of an
    operator passes, and would be timed with the models.
    """

    def make(self) -> nn.Module: ...

    def inputs(self, seed: int) -> tuple[Any, ...]: ...


class KernelBenchSubject:
    """Each model comes from a module of its own: no compiler meets what another left in the code objects."""

    def __init__(self, task: Task, device: str) -> None:
        self._task, self._device = task, device
        self._count = 0
        self._problem = self._load()

    def _load(self) -> Any:
        self._count += 1
        return load_problem(pathlib.Path(self._task.path), self._task.cap, f"_{self._count}")

    def make(self) -> nn.Module:
        torch.manual_seed(WEIGHTS_SEED)
        with torch.device(self._device):
            return self._load().make().train(self._task.mode == "train")

    def inputs(self, seed: int) -> tuple[Any, ...]:
        torch.manual_seed(seed)
        with torch.device(self._device):
            return tuple(self._problem.get_inputs())


class ModelSubject:
    """A user's model. Seed 0 gives the factory's inputs, others are drawn like them or permuted."""

    def __init__(self, task: Task, device: str) -> None:
        from ..cli.load import load_model

        self._model, self._example = load_model(task.name, task.inputs, device)
        self._train = task.mode == "train"

    def make(self) -> nn.Module:
        return copy.deepcopy(self._model).train(self._train)

    def inputs(self, seed: int) -> tuple[Any, ...]:
        torch.manual_seed(seed)
        return tuple(_like(x) if isinstance(x, torch.Tensor) and seed else x for x in self._example)


def _like(x: torch.Tensor) -> torch.Tensor:
    if not x.is_floating_point():
        return x.reshape(-1)[torch.randperm(x.numel(), device=x.device)].reshape(x.shape)
    spread = x.std() if x.numel() > 1 else x.new_ones(())
    return torch.randn_like(x) * spread + x.mean()


def subject_of(task: Task, device: str) -> Subject:
    return KernelBenchSubject(task, device) if task.path else ModelSubject(task, device)
