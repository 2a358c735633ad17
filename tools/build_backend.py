"""setuptools' build backend, asking for a heavy build requirement only where it is missing.

The native library is built against the torch it will run with. An isolated build hides the environment that the package
goes to, but its folder is known: the torch that lies there is used; only where there is none is torch a build
requirement. The same for cmake and ninja, which most machines have.
"""

from __future__ import annotations

import importlib.util
import pathlib
import shutil
import sysconfig
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

TORCH_REQUIREMENT = "torch>=2.11,<2.15"


def installed_torch() -> pathlib.Path | None:
    """The torch package of this environment, or of the one an isolated build hides."""
    candidates = [pathlib.Path(sysconfig.get_paths()[name]) / "torch" for name in ("purelib", "platlib")]
    spec = importlib.util.find_spec("torch")
    if spec and spec.origin:
        candidates.insert(0, pathlib.Path(spec.origin).parent)
    for candidate in candidates:
        if (candidate / "include" / "ATen" / "core" / "dispatch").is_dir():
            return candidate
    return None


def _native_requirements() -> list[str]:
    needed = [tool for tool in ("cmake", "ninja") if shutil.which(tool) is None]
    return needed if installed_torch() else [*needed, TORCH_REQUIREMENT]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    return build_meta.get_requires_for_build_wheel(config_settings) + _native_requirements()


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    return build_meta.get_requires_for_build_editable(config_settings) + _native_requirements()
