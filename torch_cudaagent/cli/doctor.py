"""What `cudaagent doctor` looks at."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from typing import Any

import torch

from .. import library
from ..errors import UserError
from ..options import make_options


def _finding(what: str, state: str, detail: str) -> dict[str, Any]:
    return {"what": what, "state": state, "detail": detail}


def _writable(directory: str) -> str:
    """Why nothing can be written there; empty when it can."""
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def _survey(options_json: str) -> list[dict[str, Any]]:
    survey = json.loads(torch.ops.cudaagent.survey(options_json))
    rows = (
        ("host_compiler", "missing", "until then the CPU's results are computed by PyTorch alone"),
        ("nvrtc", "absent", "without it nothing is generated for CUDA"),
        ("driver", "absent", "the CPU is optimized all the same"),
    )
    found = []
    for what, otherwise, consequence in rows:
        value = survey[what]
        why_not = f"{survey[f'{what}_absence']}; {consequence}"
        found.append(
            _finding(what.replace("_", " "), "ok" if value else otherwise, json.dumps(value) if value else why_not)
        )
    return found


def examine() -> list[dict[str, Any]]:
    """Findings in order: what, state ("ok", "absent": fine without, "missing": must be mended), detail."""
    found = [
        _finding("python", "ok", platform.python_version()),
        _finding("torch", "ok", f"{torch.__version__}, {torch.get_num_threads()} threads"),
    ]
    try:
        library.load()
    except UserError as error:
        return [*found, _finding("native library", "missing", str(error))]
    found.append(_finding("native library", "ok", str(library.folder())))
    judge = library.paths().get("judge_path")
    found.append(
        _finding("judge", "ok" if judge else "missing", judge or "reinstall the package: cudaagent-judge is not there")
    )
    options_json = make_options({}).to_json()
    found += _survey(options_json)
    directory = json.loads(torch.ops.cudaagent.options(options_json))["cache_dir"]
    why_not = _writable(directory)
    remedy = f"{directory}: {why_not}; set TORCH_CUDAAGENT_CACHE_DIR to a folder you may write"
    found.append(_finding("cache", "missing" if why_not else "ok", remedy if why_not else directory))
    if library.disabled():
        found.append(_finding("switch", "absent", "TORCH_CUDAAGENT_DISABLE is set: nothing is optimized"))
    return found
