"""What a device can do at most, measured once on it and kept: copies for bytes, square products for FLOPs."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..bench.machine import device_name

_FILE = "ceilings.json"
_BYTES = {"cpu": 1 << 27, "cuda": 1 << 30}  # copied: several times any cache
_SIDE = {"cpu": 1024, "cuda": 8192}  # of the products


def ceilings(device: str, folder: pathlib.Path) -> dict[str, Any]:
    """Rates as csrc/profile/profile.h's Ceilings, from `folder` where the same device and settings were measured."""
    key = " | ".join([device_name(device), torch.__version__, _settings(device)])
    known = _read(folder / _FILE)
    if key not in known:
        known[key] = measure(device)
        _write(folder, known)
    found: dict[str, Any] = known[key]
    return found


def _settings(device: str) -> str:
    if device == "cpu":
        return f"{torch.get_num_threads()} threads"
    return f"TF32 {torch.backends.cuda.matmul.allow_tf32} {torch.backends.cudnn.allow_tf32}"


def measure(device: str) -> dict[str, Any]:
    """Bytes and FLOPs a second. Elementary operations are taken to be no bottleneck: their rate is left out."""
    rates = {"bytes_per_second": _copy_rate(device)}
    products: dict[str, float] = {}
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        products[str(dtype).removeprefix("torch.")] = _product_rate(dtype, device)
    if device == "cuda" and torch.backends.cudnn.allow_tf32:
        with _tf32():
            products["conv:float32"] = _product_rate(torch.float32, device)
    return rates | {"products_per_second": products}


def _copy_rate(device: str) -> float:
    source = torch.ones(_BYTES[device] // 4, device=device)
    target = torch.empty_like(source)
    return 2 * _BYTES[device] / _best(lambda: target.copy_(source), device)


def _product_rate(dtype: torch.dtype, device: str) -> float:
    side = _SIDE[device]
    a = torch.ones(side, side, dtype=dtype, device=device)
    return 2 * side**3 / _best(lambda: a @ a, device)


@contextlib.contextmanager
def _tf32() -> Iterator[None]:
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _best(call: Callable[[], Any], device: str, budget_s: float = 0.3) -> float:
    """Seconds of the fastest call within the budget, two at the least: a ceiling is what can be reached."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    times: list[float] = []
    end = time.perf_counter() + budget_s
    while len(times) < 2 or (time.perf_counter() < end and len(times) < 50):
        wait()
        begin = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - begin)
    return min(times)


def _read(path: pathlib.Path) -> dict[str, Any]:
    """Nothing where there is no file or none that can be read: it is measured again."""
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write(folder: pathlib.Path, known: dict[str, Any]) -> None:
    """Replaced as a whole. A folder that cannot be written to costs another measurement, nothing else."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=_FILE)
        with os.fdopen(handle, "w") as out:
            json.dump(known, out, indent=1)
        os.replace(name, folder / _FILE)
