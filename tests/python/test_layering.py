"""The rules of the house that no compiler checks: which room may include which, what the library exports and needs."""

from __future__ import annotations

import collections
import pathlib
import re
import subprocess
from collections.abc import Iterator

import pytest

from torch_cudaagent import library

ROOT = pathlib.Path(__file__).resolve().parents[2]
CSRC = ROOT / "csrc"

# In the design's order: a room includes only rooms before it.
ROOMS = [
    "base",
    "ir",
    "profile",
    "rewrite",
    "schedule",
    "codegen",
    "jit",
    "runtime",
    "verify",
    "cache",
    "agent",
    "deploy",
]

# A room's public header is <room>/<room>.h. Besides, each part of base/base.h may be named alone; the primitives are a
# vocabulary of their own; the judge and the spine speak to the driver through jit's owners; the bridge keeps programs
# in the cell that programs keep their tensors in.
ALSO_PUBLIC = {
    "base": {path.name for path in (CSRC / "base").glob("*.h")},
    "ir": {"prims.h"},
    "jit": {"device.h", "driver.h", "driver_handles.h"},
    "runtime": {"shared_cell.h"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def sources(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (".h", ".cpp"))


def includes(path: pathlib.Path) -> list[str]:
    return [name for _, name in INCLUDE.findall(path.read_text())]


def room_of(path: pathlib.Path) -> str:
    parts = path.relative_to(CSRC).parts
    return parts[0] if len(parts) > 1 else "spine"


def foreign_includes() -> Iterator[tuple[pathlib.Path, str, str, str]]:
    """(file, its room, the other room, header) of every include that crosses a room's border."""
    for path in sources(CSRC):
        for name in includes(path):
            other, _, header = name.partition("/")
            if other in [*ROOMS, "torch_bridge"] and other != room_of(path) and header:
                yield path, room_of(path), other, header


def test_every_room_is_known() -> None:
    folders = {path.name for path in CSRC.iterdir() if path.is_dir()}
    assert folders <= {*ROOMS, "torch_bridge"}


def test_rooms_include_only_rooms_above() -> None:
    order = {room: place for place, room in enumerate([*ROOMS, "spine", "torch_bridge"])}
    wrong = [
        f"{path.relative_to(ROOT)} includes {other}/{header}"
        for path, room, other, header in foreign_includes()
        if order[other] > order[room]
    ]
    wrong += [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in sources(CSRC)
        for name in includes(path)
        if name.startswith("pipeline") and room_of(path) in ROOMS
    ]
    assert wrong == []


def test_rooms_are_entered_by_their_public_header() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} includes {other}/{header}"
        for path, _, other, header in foreign_includes()
        if header != f"{other}.h" and header not in ALSO_PUBLIC.get(other, set())
    ]
    assert wrong == []


def test_torch_headers_stay_in_the_bridge() -> None:
    torch_headers = re.compile(r"^(ATen|torch|c10|caffe2)/")
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in sources(CSRC)
        if room_of(path) != "torch_bridge"
        for name in includes(path)
        if torch_headers.match(name)
    ]
    assert wrong == []


def test_no_cuda_header_and_no_python_header() -> None:
    foreign = re.compile(r"^(cuda(?!agent)|nvrtc|cupti|cublas|cudnn|Python\.h|pybind11|torch/extension)")
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in sources(CSRC)
        for name in includes(path)
        if foreign.match(name)
    ]
    assert wrong == []


def test_only_base_reads_the_environment() -> None:
    readers = [path for path in sources(CSRC) if re.search(r"\b(secure_)?getenv\s*\(|\benviron\b", path.read_text())]
    assert {room_of(path) for path in readers} <= {"base"}


def code_lines(path: pathlib.Path) -> list[tuple[int, str]]:
    lines = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if len(text) > 3 and not text.startswith(("//", "#", "import ", "from ", "namespace ", "using ")):
            lines.append((number, text))
    return lines


def test_nothing_is_written_twice() -> None:
    """No run of 8 lines of code occurs in two places."""
    window = 8
    files = sources(CSRC) + sorted((ROOT / "torch_cudaagent").rglob("*.py"))
    places: dict[tuple[str, ...], list[str]] = collections.defaultdict(list)
    for path in files:
        lines = code_lines(path)
        for start in range(len(lines) - window + 1):
            block = tuple(text for _, text in lines[start : start + window])
            places[block].append(f"{path.relative_to(ROOT)}:{lines[start][0]}")
    twice = [found for found in places.values() if len(found) > 1]
    assert twice == []


@pytest.fixture(scope="module")
def native() -> pathlib.Path:
    path = library.folder() / library.LIBRARY
    if not path.is_file():
        pytest.fail(f"{path} is not built; run ./dev build")
    return path


def test_library_exports_nothing_of_ours(native: pathlib.Path) -> None:
    """Only what the C++ ABI shares between libraries: weak and unique symbols of torch's and the standard library's."""
    output = subprocess.run(
        ["nm", "-D", "-C", "--defined-only", str(native)], capture_output=True, text=True, check=True
    ).stdout
    strong, ours = [], []
    for line in output.splitlines():
        _, kind, name = line.split(maxsplit=2)
        if kind not in "WVuw":
            strong.append(name)
        if "cudaagent" in name or "nlohmann" in name:
            ours.append(name)
    assert strong == []
    assert ours == []


def test_nothing_of_ours_is_left_undefined(native: pathlib.Path) -> None:
    """The linker lets it pass, since symbols of torch's OpenMP are looked up at load time."""
    output = subprocess.run(["nm", "-D", "-C", "-u", str(native)], capture_output=True, text=True, check=True).stdout
    assert [line.strip() for line in output.splitlines() if re.search(r"^\s*U cudaagent::", line)] == []


def test_library_needs_only_torch_and_the_system(native: pathlib.Path) -> None:
    """No CUDA library, no Python and no second OpenMP."""
    output = subprocess.run(["objdump", "-p", str(native)], capture_output=True, text=True, check=True).stdout
    needed = {line.split()[1] for line in output.splitlines() if line.strip().startswith("NEEDED")}
    allowed = {"libtorch_cpu.so", "libc10.so", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6"}
    allowed |= {"libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    assert needed <= allowed
