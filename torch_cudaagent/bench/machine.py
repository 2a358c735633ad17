"""What a run says of itself: commit, device, driver, clocks, versions, flags."""

from __future__ import annotations

import datetime
import os
import pathlib
import platform
import shutil
import subprocess
from typing import Any

import torch

from .row import Header, Kind


def _output(*command: str, cwd: pathlib.Path | None = None) -> str:
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def processor() -> str:
    """The processor's own name."""
    info = pathlib.Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.is_file() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def device_name(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else processor()


def machine(device: str) -> dict[str, Any]:
    """Versions, and on a GPU its driver, clocks and power limit as nvidia-smi gives them."""
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "processor": processor(),
    }
    if device == "cuda":
        names = ("driver_version", "clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "power.limit")
        values = _output("nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader").split("\n")[0]
        found |= dict(zip(names, (value.strip() for value in values.split(",")), strict=False))
        found["cudnn"] = torch.backends.cudnn.version()
    return found


def flags() -> dict[str, Any]:
    return {
        "matmul.allow_tf32": torch.backends.cuda.matmul.allow_tf32,
        "cudnn.allow_tf32": torch.backends.cudnn.allow_tf32,
        "cudnn.benchmark": torch.backends.cudnn.benchmark,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
    }


def make_header(kind: Kind, device: str, command: str, options: dict[str, Any], problems: list[str]) -> Header:
    """The commit is that of this package's checkout, or TORCH_CUDAAGENT_COMMIT where there is none."""
    root = pathlib.Path(__file__).resolve().parents[2]
    commit = _output("git", "rev-parse", "--short", "HEAD", cwd=root) or os.environ.get("TORCH_CUDAAGENT_COMMIT", "")
    return {
        "kind": kind,
        "commit": commit,
        "dirty": bool(_output("git", "status", "--porcelain", "--untracked-files=no", cwd=root)),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": command,
        "device": device_name(device),
        "machine": machine(device),
        "flags": flags(),
        "options": options,
        "problems": problems,
        "device_seconds": 0.0,
    }
