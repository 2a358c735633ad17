"""What is read from a run: rates and means that drop nothing, comparisons, tables, the README's."""

from __future__ import annotations

import json
import math
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from bench_rows import failed_row, make_row, write_run
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from torch_cudaagent.bench import metrics, report, summary
from torch_cudaagent.bench.baselines import EarlierRun
from torch_cudaagent.bench.compare import compare
from torch_cudaagent.bench.row import (
    PROTOCOLS,
    VARIANTS,
    Judgement,
    Row,
    Time,
    append_row,
    count_unreadable,
    counted,
    read_header,
    read_rows,
)
from torch_cudaagent.bench.score import score
from torch_cudaagent.cli import main
from torch_cudaagent.errors import UserError


def run(*args: str | pathlib.Path, code: int = 0) -> str:
    result: Result = CliRunner().invoke(main, ["bench", *map(str, args)])
    assert result.exit_code == code, result.output
    return result.output


def test_nothing_is_dropped_from_a_mean() -> None:
    rows = [
        make_row("level1/1_A", ours=0.5),  # 4x over default
        make_row("level1/2_B", ours=0.5, passed=False),  # refused: eager in its place, 0.5x
        failed_row("level1/3_C"),  # nothing ran: 1x
        make_row("level1/4_D", ours=None, status="crashed"),  # crashed: eager, 0.5x
    ]
    found = metrics.speed(rows, "seed")
    assert (found.count, found.passed, found.faster) == (4, 0.25, 0.25)
    assert found.geomean == pytest.approx((4 * 0.5 * 1 * 0.5) ** 0.25)
    assert found.median == pytest.approx(0.75)


def test_faster_than_the_device_is_no_win() -> None:
    row = make_row("level1/1_A", ours=0.1)
    assert "less than the device's least" in row["judged"]["seed"]["suspect"]
    found = metrics.speed([row], "seed")
    assert (found.suspects, found.faster, found.geomean) == (1, 0.0, 1.0)


def test_the_best_mode_is_the_baseline_of_equal() -> None:
    assert metrics.speed([make_row("level1/1_A", ours=1.0)], "equal").geomean == 1.5


def test_no_baseline_drops_what_failed() -> None:
    slow = make_row("level1/1_A", ours=1.0)
    no_default = make_row("level1/2_B", ours=0.5)
    del no_default["times"]["default"]
    rows = [slow, no_default, failed_row("level1/3_C"), make_row("level2/4_D", passed=False)]
    found = metrics.over_baselines(rows, "seed")
    assert found["eager"] == metrics.Over(4, pytest.approx((4 * 8 * 1 * 1) ** 0.25), 2.5)
    assert found["default"] == metrics.Over(3, pytest.approx(1.0), 1.0)  # 2, 1 and eager's 0.5
    assert found[metrics.BEST].geomean == pytest.approx((1.5 * 3 * 1 * 1.5 / 4) ** 0.25)
    assert "half" not in found
    (whole,) = summary.summarise({"problems": []}, rows)
    assert whole.over["seed", "all", 2]["eager"] == metrics.Over(1, 1.0, 1.0)


def test_frozen_weights_are_shown_beside_ours() -> None:
    row = make_row("level1/1_A", ours=1.0)
    row["times"]["ours_frozen"] = {"wall_ms": 0.8}
    assert metrics.over_baselines([row], "seed")["ours_frozen"].geomean == pytest.approx(0.8)
    assert metrics.speed([row], "seed").geomean == 2.0


def test_a_win_needs_a_time_of_ours() -> None:
    """Passed, but not timed: eager's time stands for it, and that eager beats torch.compile is no win of ours."""
    row = make_row("level1/1_A", ours=None)
    row["times"]["default"]["wall_ms"] = 8.0
    found = metrics.speed([row], "seed")
    assert (found.passed, found.faster, found.geomean) == (1.0, 0.0, 2.0)


def test_costs_are_medians_by_variant() -> None:
    rows = [make_row(f"level1/{k}_P", cache_bytes=k) for k in range(3)]
    for k, row in enumerate(rows):
        row["times"]["ours"] |= {"prepare_s": k * 1.0, "overhead_us": 10.0}
    assert summary.costs(rows) == {"ours": {"prepare_s": 1.0, "overhead_us": 10.0, "cache_bytes": 1}}


def test_means_without_constant_outputs_and_finite_only_rewrites() -> None:
    rows = [
        make_row("level1/1_A", ours=1.0),
        make_row("level1/2_B", ours=0.25, constant_output=True),
        make_row("level1/3_C", ours=0.4, finite_only=["fixed clamp"]),
    ]
    (found,) = summary.summarise({"problems": []}, rows)
    geomeans = {view: found.speeds["seed", view, 0].geomean for view in summary.VIEWS}
    assert geomeans["all"] == pytest.approx((2 * 8 * 5) ** (1 / 3))
    assert geomeans["without constant outputs"] == pytest.approx(math.sqrt(10))
    assert geomeans["without finite-only rewrites"] == pytest.approx(4)


def test_sentinels_count_once_and_missing_problems_are_told() -> None:
    own, again = make_row("level1/1_A", ours=1.0), make_row("level1/1_A", ours=0.5, sentinel=True, shard="1/2")
    assert counted([again, own]) == [own]
    (found,) = summary.summarise({"problems": ["level1/1_A", "level1/2_B"]}, [again, own])
    assert found.missing == ["level1/2_B"] and found.speeds["seed", "all", 0].count == 1


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(st.floats(0.3, 8), st.booleans()), min_size=1, max_size=12))
def test_rates_and_means_stay_in_their_ranges(drawn: list[tuple[float, bool]]) -> None:
    rows = [make_row(f"level{k % 3 + 1}/{k}_P", ours, right) for k, (ours, right) in enumerate(drawn)]
    for protocol in ("seed", "equal"):
        found, ratios = metrics.speed(rows, protocol), [metrics.speedup(row, protocol) or 1.0 for row in rows]
        assert found.faster <= found.passed <= 1 and found.count == len(rows)
        assert min(ratios) <= found.geomean * 1.000001 and found.geomean <= max(ratios) * 1.000001
        levels = [metrics.speed([r for r in rows if r["level"] == n], protocol) for n in (1, 2, 3)]
        logs = sum(level.count * math.log(level.geomean) for level in levels)
        assert logs == pytest.approx(found.count * math.log(found.geomean))


def test_the_map_is_sorted_by_time_above_the_floor() -> None:
    rows = [
        make_row("level1/1_A", 0.5),
        make_row("level1/2_B", 3.0),
        make_row("level1/3_C", 1.0),
        failed_row("level1/4_D"),
    ]
    found = metrics.above_floor(rows, "seed", 2)
    assert [row["problem"] for row, _ in found] == ["level1/2_B", "level1/3_C"]
    assert found[0][1] == pytest.approx(2.8)


def test_damaged_lines_are_left_out_and_told(tmp_path: pathlib.Path) -> None:
    folder = write_run(tmp_path / "run", [make_row("level1/1_A")])
    with (folder / "rows.jsonl").open("a") as out:
        out.write(
            '[1, 2]\n{"problem": 3}\n{"problem": "x", "level": 1, "mode": "train", "status": "ok", "times": []}\n{"prob'
        )
    append_row(folder, make_row("level1/2_B"))
    assert [row["problem"] for row in read_rows(folder)] == ["level1/1_A", "level1/2_B"]
    assert count_unreadable(folder) == 4
    assert "4 lines" in run("summary", folder)


@pytest.mark.parametrize(
    "damage",
    [
        {"mode": "test"},
        {"status": "fine"},
        {"level": True},
        {"times": {"ours": 3}},
        {"times": {"ours": {"wall_ms": "1"}}},
        {"times": {"ours": {"samples": [1, None]}}},
        {"judged": {"seed": True}},
        {"judged": {"seed": {"passed": "yes"}}},
        {"floor": {"bytes_ms": float("nan")}},
        {"regions": {}},
        {"finite_only": "clamp"},
    ],
    ids=str,
)
def test_a_row_with_a_field_of_another_type_is_none(damage: dict[str, Any], tmp_path: pathlib.Path) -> None:
    folder = write_run(tmp_path / "run", [make_row("level1/1_A"), make_row("level1/2_B") | damage])  # type: ignore[list-item]
    assert [row["problem"] for row in read_rows(folder)] == ["level1/1_A"] and count_unreadable(folder) == 1


_TIMES = st.floats(-1, 1e6, allow_nan=False)


def _some(kind: Any) -> st.SearchStrategy[Any]:
    """Whatever the schema allows, with any field absent."""
    origin, args = get_origin(kind), get_args(kind)
    if is_typeddict(kind):
        return st.fixed_dictionaries({}, optional={name: _some(of) for name, of in get_type_hints(kind).items()})
    if kind == dict[str, Time]:
        return st.dictionaries(st.sampled_from(VARIANTS), _some(Time))
    if kind == dict[str, Judgement]:
        return st.dictionaries(st.sampled_from(PROTOCOLS), _some(Judgement))
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (list, dict):
        items = st.lists(_some(args[-1]), max_size=3)
        return items if origin is list else items.map(lambda found: {str(k): x for k, x in enumerate(found)})
    simple: dict[Any, st.SearchStrategy[Any]] = {bool: st.booleans(), int: st.integers(0, 3), float: _TIMES}
    return simple.get(kind, st.text(max_size=3))


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(st.lists(_some(Row), min_size=1, max_size=6))
def test_whatever_the_schema_allows_can_be_shown(drawn: list[Row]) -> None:
    rows = [{"problem": f"p{k % 4}", "level": 1, "mode": "train", "status": "ok"} | row for k, row in enumerate(drawn)]
    with tempfile.TemporaryDirectory() as folder:
        made = write_run(pathlib.Path(folder) / "run", rows)  # type: ignore[arg-type]
        assert count_unreadable(made) == 0 and read_rows(made)
        run("summary", made)
        run("compare", made, made, "--protocol", next(iter(summary.protocols_of(read_rows(made))), "seed"), "--fail")
        for value in _numbers(json.loads(run("summary", made, "--json"))["summaries"]):
            assert math.isfinite(value)
        report.render([(read_header(made), summary.summarise(read_header(made), read_rows(made)))])


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _numbers(item)
    elif isinstance(value, float):
        yield value


def test_a_run_without_rows_is_not_finished(tmp_path: pathlib.Path) -> None:
    folder = write_run(tmp_path / "run", [], ["level1/1_A", "level1/2_B"])
    assert "NOT FINISHED: 2 problems have no row yet: level1/1_A, level1/2_B" in run("summary", folder)
    assert json.loads(run("summary", folder, "--json"))["finished"] is False
    run("report", folder, "--out", tmp_path / "page.html")
    assert "NOT FINISHED: 2" in (tmp_path / "page.html").read_text()


def test_a_run_of_failures_alone_has_rates(tmp_path: pathlib.Path) -> None:
    folder = write_run(tmp_path / "run", [failed_row("level1/1_A", "timeout"), failed_row("level1/2_B", "failed")])
    (speed, *_) = json.loads(run("summary", folder, "--json"))["summaries"][0]["speeds"]
    assert (speed["count"], speed["passed"], speed["geomean"]) == (2, 0.0, 1.0)


def test_summary_tells_what_went_wrong(tmp_path: pathlib.Path) -> None:
    rows = [make_row("level1/1_A"), make_row("level2/2_B", passed=False), failed_row("level3/3_C", "timeout")]
    folder = write_run(tmp_path / "run", rows, ["level1/1_A", "level2/2_B", "level3/3_C", "level3/9_Z"])
    printed = run("summary", folder)
    for text in ("NOT FINISHED: 1", "level3/9_Z", "too far from the truth", "timeout: level3/3_C", "33.3%"):
        assert text in printed
    document = json.loads(run("summary", folder, "--json"))
    assert document["summaries"][0]["missing"] == ["level3/9_Z"]


def test_compare_finds_each_kind_of_change(tmp_path: pathlib.Path) -> None:
    names = [f"level1/{k}_P" for k in range(6)]
    before = [make_row(name, 1.0, name != names[3]) for name in names[:5]]
    walls = {0: 0.8, 1: 1.3, 4: 1.01}
    after = [make_row(name, walls.get(k, 1.0), k != 2) for k, name in enumerate(names)]
    kinds = [change.kind for change in compare(before, after, "equal")]
    assert kinds == ["faster", "slower", "broke", "mended", "same", "new"]
    a, b = write_run(tmp_path / "a", before), write_run(tmp_path / "b", after)
    printed = run("compare", a, b, "--fail", code=1)
    assert "slower: 1" in printed and "broke: 1" in printed
    assert "6 the same" in run("compare", b, b, "--fail")


def test_runs_are_not_compared_by_a_protocol_they_lack() -> None:
    rows = [make_row("level1/1_A")]
    with pytest.raises(UserError, match="was not judged by verified; pass --protocol seed"):
        compare(rows, rows, "verified")


def test_shards_that_disagree_are_noise() -> None:
    shards = [make_row("level1/1_A", sentinel=True, shard=f"{k}/2") for k in (1, 2)]
    shards[1]["times"]["eager"]["wall_ms"] = 6.0
    quick = [make_row("level1/2_B", 0.8)]
    assert compare([make_row("level1/2_B", 1.0), *shards], [*quick, *shards], "equal")[0].kind == "same"
    assert compare([make_row("level1/2_B", 1.0)], quick, "equal")[0].kind == "faster"


def test_samples_that_scatter_are_noise() -> None:
    steady, quick = make_row("level1/1_A", 1.0), make_row("level1/1_A", 0.8)
    assert compare([steady], [quick], "equal")[0].kind == "faster"
    quick["times"]["ours"] |= {"low_ms": 0.6, "high_ms": 1.0}
    assert compare([steady], [quick], "equal")[0].kind == "same"


def test_readme_has_the_tables_of_the_run(tmp_path: pathlib.Path) -> None:
    folder, readme = write_run(tmp_path / "run", [make_row("level1/1_A")]), tmp_path / "README.md"
    readme.write_text("before\n")
    assert "has no place for the table" in run("readme", folder, readme, code=2)
    readme.write_text(
        "before\n<!-- cudaagent bench readme: begin -->\nold\n<!-- cudaagent bench readme: end -->\nafter\n"
    )
    run("readme", folder, readme, "--check", code=1)
    run("readme", folder, readme)
    text = readme.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "| seed | all | 1 | 100.0% |" in text
    run("readme", folder, readme, "--check")


def test_readme_says_that_a_run_is_not_finished(tmp_path: pathlib.Path) -> None:
    folder, readme = write_run(tmp_path / "run", [make_row("level1/1_A")], ["level1/1_A", "level1/2_B"]), tmp_path / "R"
    readme.write_text("<!-- cudaagent bench readme: begin --><!-- cudaagent bench readme: end -->")
    run("readme", folder, readme)
    assert "NOT FINISHED: 1 problems have no row yet: level1/2_B" in readme.read_text()


def test_baselines_of_an_earlier_run_are_marked_and_not_published(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch_cudaagent.bench.baselines.device_name", lambda device: "NVIDIA H200")
    earlier = EarlierRun(write_run(tmp_path / "a", [make_row("level1/1_A")]), "cuda")
    row = make_row("level1/1_A", 0.5)
    for name in ("default", "max-autotune"):
        del row["times"][name]
    score(row)
    assert row["judged"]["seed"]["baseline"] == "eager"
    earlier.complete(row)
    assert row["cached"] == ["default", "max-autotune"] and row["judged"]["seed"]["speedup"] == 4.0
    readme = tmp_path / "README.md"
    readme.write_text("<!-- cudaagent bench readme: begin -->\n<!-- cudaagent bench readme: end -->\n")
    folder = write_run(tmp_path / "b", [row], baselines=earlier.name)
    assert "publish a run without" in run("readme", folder, readme, code=2)
    for command in (["summary", folder], ["compare", folder, folder]):
        assert "BASELINES OF AN EARLIER RUN" in run(*command)
    run("report", folder, "--out", tmp_path / "page.html")
    assert f"Baselines of an earlier run, {earlier.name}" in (tmp_path / "page.html").read_text()
    monkeypatch.setattr("torch_cudaagent.bench.baselines.device_name", lambda device: "another")
    with pytest.raises(UserError, match="was made on NVIDIA H200"):
        EarlierRun(tmp_path / "a", "cuda")


def test_a_folder_without_a_run_gets_a_sentence(tmp_path: pathlib.Path) -> None:
    for command in (["summary", tmp_path], ["compare", tmp_path, tmp_path], ["report", tmp_path]):
        assert "holds no run of the benchmark" in run(*command, code=2)
    for header in ("[]", "{}", '{"device": 1, "commit": "", "date": ""}', "{"):
        (tmp_path / "run.json").write_text(header)
        assert "holds no run of the benchmark" in run("summary", tmp_path, code=2)


RESULTS = sorted((pathlib.Path(__file__).parents[2] / "docs" / "results").glob("*/run.json"))


@pytest.mark.parametrize("header", RESULTS, ids=lambda path: path.parent.name)
def test_runs_that_are_kept_can_be_read(header: pathlib.Path) -> None:
    assert summary.summarise(read_header(header.parent), read_rows(header.parent))
    assert count_unreadable(header.parent) == 0


def test_the_projects_readme_is_up_to_date() -> None:
    """The newest whole run of KernelBench is the README's, once there is one."""
    runs = [path for path in RESULTS if json.loads(path.read_text())["kind"] == "kernelbench"]
    readme = pathlib.Path(__file__).parents[2] / "README.md"
    if not runs:
        assert "cudaagent bench readme" not in readme.read_text()
        return
    newest = max(runs, key=lambda path: json.loads(path.read_text())["date"])
    run("readme", newest.parent, readme, "--check")
