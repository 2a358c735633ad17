"""Whole runs of the benchmark on the CPU, over problems of our own in KernelBench's format."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from torch_cudaagent.bench.row import read_header, read_rows

PROBLEMS = pathlib.Path(__file__).resolve().parents[1] / "data" / "kernelbench"
BAD = {
    "level1/3_Crash.py": "import os; os.kill(os.getpid(), 11)",
    "level1/4_Hang.py": "import time; time.sleep(3600)",
    "level1/5_Memory.py": "torch.empty(1 << 50)",
    "level1/6_Error.py": "raise ValueError('no such thing')",
}
BODY = """
import torch
from torch import nn
class Model(nn.Module):
    def forward(self, x):
        if x.device.type != 'meta':
            {}
        return x + 1
def get_inputs(): return [torch.rand(8)]
def get_init_inputs(): return []
"""


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "torch_cudaagent.cli", "bench", *args]


def bench(*args: str, code: int = 0) -> str:
    done = subprocess.run(command(*args), capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def options(folder: pathlib.Path, out: pathlib.Path, **more: Any) -> list[str]:
    given = {"path": folder, "out": out, "device": "cpu", "variants": "eager", "seconds": 0.1, "scale_down": 256} | more
    return [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def test_six_problems_beside_torch_compile(tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out"
    more = {"variants": "default", "protocol": "seed,equal,verified"}
    printed = bench("kernelbench", *options(PROBLEMS, out, **more))
    rows, header = read_rows(out), read_header(out)
    assert [row["problem"] for row in rows] == header["problems"] and len(rows) == 6
    assert header["command"].startswith("cudaagent bench kernelbench") and str(tmp_path) not in json.dumps(header)
    assert header["device_seconds"] > 0 and header["machine"]["threads"] >= 1
    for row in rows:
        assert row["status"] == "ok" and row["tried"] == ["eager", "default", "eager_tf32", "ours"], row
        assert all(found["wall_ms"] > 0 and len(found["samples"]) >= 7 for found in row["times"].values())
        for protocol in ("seed", "equal", "verified"):
            assert row["judged"][protocol]["passed"], row["judged"]
        assert row["judged"]["seed"]["baseline"] == "default" and row["judged"]["verified"]["baseline"] == "eager_tf32"
        assert row["floor"]["bytes"] > 0 and row["cache_bytes"] > 0 and not row["constant_output"]
        # On a busy machine a kernel may lose to eager: then it says so.
        told = {"generated": "source", "external": "why"}
        assert row["regions"] and all(
            region[told[region["kind"]]] for region in row["regions"] if region["kind"] in told
        )
        assert row["problem"] in printed


def test_a_bad_problem_is_one_row_and_the_run_goes_on(tmp_path: pathlib.Path) -> None:
    folder, out = tmp_path / "kb", tmp_path / "out"
    shutil.copytree(PROBLEMS / "level1", folder / "level1")
    for name, statement in BAD.items():
        (folder / name).write_text(BODY.format(statement))
    (folder / "level1" / "7_Syntax.py").write_text("def Model(:\n")
    arguments = options(folder, out, level=1, variant_limit=8)
    bench("kernelbench", *arguments)
    rows = {row["problem"]: row for row in read_rows(out)}
    status = {name.partition("_")[2]: (row["status"], row["reason"]) for name, row in rows.items()}
    assert status["Tempered_Softmax"][0] == status["Standardized_Columns"][0] == "ok"
    assert status["Crash"][0] == "crashed" and "SIGSEGV" in status["Crash"][1]
    assert status["Hang"][0] == "timeout" and "8 s" in status["Hang"][1]
    assert status["Memory"][0] == "out_of_memory"
    assert status["Error"][0] == "failed" and "no such thing" in status["Error"][1]
    assert status["Syntax"][0] == "failed" and "SyntaxError" in status["Syntax"][1]
    logs = {path.name: path.read_text() for path in (out / "logs").iterdir()}
    assert "no such thing" in logs["level1_6_Error.train.txt"] and "level1_1_Tempered_Softmax.train.txt" not in logs
    assert "go on with it by --resume" in bench("kernelbench", *arguments, code=2)
    bench("kernelbench", *arguments, "--resume")
    assert len(read_rows(out)) == len(rows) == 7


# Hangs in Inductor only: torch.compile runs the function it is told to at compile time.
HANGS_COMPILED = BODY.replace("if x.device.type != 'meta':", "if torch.compiler.is_compiling():").format("slow()") + (
    "\n@torch.compiler.assume_constant_result\ndef slow():\n    import time\n    time.sleep(3600)\n    return 1\n"
)


def test_a_variant_that_hangs_is_listed_and_the_rest_is_timed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "kb" / "level1").mkdir(parents=True)
    (tmp_path / "kb" / "level1" / "1_Slow.py").write_text(HANGS_COMPILED)
    bench("kernelbench", *options(tmp_path / "kb", tmp_path / "out", level=1, variant_limit=15))
    (row,) = read_rows(tmp_path / "out")
    assert row["status"] == "ok" and row["tried"] == ["eager"]
    assert "timed out after 15 s" in row["not_run"]["ours"]
    assert not row["judged"]["equal"]["passed"] and row["judged"]["equal"]["speedup"] == 1.0


def test_interrupted_and_gone_on_with(tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out"
    arguments = options(PROBLEMS, out, level="1,2", protocol="seed")
    running = subprocess.Popen(
        command("kernelbench", *arguments),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's background job, as a test run may be, starts with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 120
    while not read_rows(out) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)
    printed, _ = running.communicate(timeout=60)
    assert running.returncode == 130 and "--resume" in printed
    before = read_rows(out)
    assert 1 <= len(before) < 4
    bench("kernelbench", *arguments, "--resume")
    after = read_rows(out)
    assert len(after) == 4 and after[: len(before)] == before


def test_a_model_of_the_users(tmp_path: pathlib.Path) -> None:
    printed = bench("model", "nosuch:thing", "--out", str(tmp_path / "none"), "--device", "cpu", code=2)
    assert "Cannot import nosuch" in printed and not (tmp_path / "none").exists()
    (tmp_path / "net.py").write_text(
        "import torch\ndef build():\n    return torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.GELU())\n"
    )
    out = tmp_path / "out"
    arguments = ["--input", "4x16", "--out", str(out), "--device", "cpu", "--variants", "eager", "--seconds", "0.1"]
    bench("model", f"{tmp_path / 'net.py'}:build", *arguments)
    (row,) = read_rows(out)
    assert row["mode"] == "eval" and row["judged"]["equal"]["passed"] and row["times"]["ours"]["wall_ms"] > 0
    arguments[1], arguments[3] = "4x15", str(tmp_path / "wrong")
    assert "failed: RuntimeError" in bench("model", f"{tmp_path / 'net.py'}:build", *arguments, code=1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--path", "nowhere"], "ScalingIntelligence/KernelBench"),
        (["--path", str(PROBLEMS), "--problems", "1/99"], "None of 1/99"),
        (["--path", str(PROBLEMS), "--protocol", "fast"], "--protocol fast"),
        (["--path", str(PROBLEMS), "--variants", "eager,warp"], "--variants"),
        (["--path", str(PROBLEMS), "--level", "9"], "--level 9"),
        (["--path", str(PROBLEMS), "--shard", "5/4"], "--shard 5/4"),
    ],
)
def test_mistakes_get_a_sentence(arguments: list[str], said: str, tmp_path: pathlib.Path) -> None:
    printed = bench("kernelbench", *arguments, "--out", str(tmp_path / "out"), code=2)
    assert said in printed and "Traceback" not in printed


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_the_run_is_killed(how: signal.Signals, tmp_path: pathlib.Path) -> None:
    (tmp_path / "kb" / "level1").mkdir(parents=True)
    mark = f"{tmp_path}/alive"
    hang = f"import time\n            while True: open({mark!r}, 'a').write('.'); time.sleep(0.1)"
    (tmp_path / "kb" / "level1" / "1_Hang.py").write_text(BODY.format(hang))
    arguments = options(tmp_path / "kb", tmp_path / "out", level=1)
    running = subprocess.Popen(command("kernelbench", *arguments), stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not os.path.exists(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    running.send_signal(how)
    printed, _ = running.communicate(timeout=60)  # its end: nobody holds its output any more
    assert how == signal.SIGKILL or "--resume" in printed
    time.sleep(1)
    size = os.path.getsize(mark)
    time.sleep(1)
    assert os.path.getsize(mark) == size


def test_no_mode_of_ours_is_timed_with_a_model(tmp_path: pathlib.Path) -> None:
    """A default device, for one, is a mode that every operator passes."""
    (tmp_path / "kb" / "level1").mkdir(parents=True)
    statement = "assert torch.compiler.is_compiling() or torch._C._len_torch_function_stack() == 0"
    (tmp_path / "kb" / "level1" / "1_Modes.py").write_text(BODY.format(statement))
    bench("kernelbench", *options(tmp_path / "kb", tmp_path / "out", level=1, protocol="seed"))
    (row,) = read_rows(tmp_path / "out")
    assert row["status"] == "ok" and row["tried"] == ["eager", "ours"], row
