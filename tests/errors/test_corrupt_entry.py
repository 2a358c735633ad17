"""An entry damaged anywhere is a miss: made again, and right."""

from __future__ import annotations

import pathlib
import struct
from typing import Any

import pytest
import torch

import torch_cudaagent as cudaagent
from torch_cudaagent import capture_cache, library

KINDS = {"record", "host_binary", "graph"}
X = torch.randn(16, 64)


def function(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x * 2, -1)


def counts(cache: pathlib.Path) -> dict[str, int]:
    """What the cache was good for; the result is checked on the way."""
    torch._dynamo.reset()
    optimized = cudaagent.optimize(lambda x: function(x), measure=False, cache_dir=str(cache))
    with torch.no_grad():
        torch.testing.assert_close(optimized(X), function(X))
    report = cudaagent.explain(optimized).to_dict()
    assert report["graphs"][0]["why_eager"] is None
    return report["totals"]["cache"]


def parts(entry: bytes) -> dict[str, int]:
    """A byte of every part of an entry (csrc/cache/entry_file.h)."""
    _, _, _, key, payload = struct.unpack_from("<4sIIIQ", entry)
    head = {"magic": 0, "version": 4, "kind": 8, "key bytes": 12, "payload bytes": 16, "key": 24, "key's end": 23 + key}
    at = 24 + key
    return head | {"payload": at, "payload's end": at + payload - 1, "checksum": at + payload}


PARTS = list(parts(struct.pack("<4sIIIQ", b"CAGT", 1, 0, 1, 1)))


def damage(folder: pathlib.Path, part: str) -> set[str]:
    """Flips a bit in that part of every entry; the kinds that were met."""
    met = set()
    for path in folder.rglob("*.cagt"):
        content = bytearray(path.read_bytes())
        content[parts(content)[part]] ^= 1
        path.write_bytes(content)
        met.add(path.parts[-3])
    return met


@pytest.mark.parametrize("part", PARTS)
def test_in_the_users_own_store(tmp_path: pathlib.Path, part: str) -> None:
    counts(tmp_path)
    assert counts(tmp_path) == {"record_hits": 1, "record_misses": 0, "binary_hits": 1, "binary_misses": 0}
    assert damage(tmp_path, part) == KINDS
    assert counts(tmp_path) == {"record_hits": 0, "record_misses": 1, "binary_hits": 0, "binary_misses": 1}
    assert counts(tmp_path) == {"record_hits": 1, "record_misses": 0, "binary_hits": 1, "binary_misses": 0}


@pytest.mark.parametrize("part", PARTS)
def test_in_a_layer_below_it(tmp_path: pathlib.Path, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own, layer = tmp_path / "own", tmp_path / "layer"
    counts(layer)
    with_layer: dict[str, Any] = library.paths() | {"cache_layers": [str(layer)]}
    monkeypatch.setattr(library, "paths", lambda: with_layer)
    assert counts(own)["record_hits"] == 1  # host code itself is taken from no layer
    damage(layer, part)
    assert counts(tmp_path / "other")["record_hits"] == 0


@pytest.mark.parametrize("length", [0, 3, 24, 100])
def test_cut_off(tmp_path: pathlib.Path, length: int) -> None:
    counts(tmp_path)
    for path in tmp_path.rglob("*.cagt"):
        path.write_bytes(path.read_bytes()[:length])
    assert counts(tmp_path)["binary_misses"] == 1


def test_a_whole_entry_of_another_key(tmp_path: pathlib.Path) -> None:
    counts(tmp_path)
    for kind in KINDS:
        for path in (tmp_path / kind).rglob("*.cagt"):
            path.write_bytes(next(tmp_path.rglob(f"{'graph' if kind != 'graph' else 'record'}/*/*.cagt")).read_bytes())
    assert counts(tmp_path)["binary_misses"] == 1


def test_a_record_that_says_nothing_known(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, under the right key, and written by something else."""
    monkeypatch.setattr(capture_cache, "_encode", lambda _: {"graph": {}})
    counts(tmp_path)
    monkeypatch.undo()
    assert counts(tmp_path)["binary_hits"] == 1
