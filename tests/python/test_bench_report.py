"""The report's page in a real browser: no script error, no empty plot, tables that sort, text that cannot break out."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from bench_rows import failed_row, make_row, write_run

from torch_cudaagent.bench import report
from torch_cudaagent.errors import UserError

CHROMIUM = shutil.which("chromium")
ROWS = [
    make_row("level1/1_A", 1.0),
    make_row("level1/2_B", 0.5),
    make_row("level2/3_C", 3.0, passed=False),
    make_row(
        "level3/4_<img src=x></script><script>throw 2</script> 50%",
        12.0,
        not_run={"half": "timed out </script><script>throw 1</script>"},
    ),
    failed_row("level3/5_E"),
]
ROWS[0]["times"]["ours"]["prepare_s"] = 7.0


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("report")
    earlier = write_run(folder / "a", [make_row("level1/1_A", 2.0)], date="2025-12-01T00:00:00+00:00", commit="0000001")
    later = write_run(folder / "b", ROWS)
    report.write([earlier, later], folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def page(page_file: pathlib.Path) -> Iterator[Any]:
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("chromium is missing: ./dev test installs it")
        pytest.skip("chromium is not installed; apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
        opened = context.new_page()
        problems: list[str] = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        opened.on("request", lambda request: problems.append(request.url) if request.url.startswith("http") else None)
        opened.goto(page_file.as_uri())
        opened.problems = problems
        yield opened
        browser.close()


def test_the_page_template_is_packed(tmp_path: pathlib.Path) -> None:
    root = pathlib.Path(__file__).parents[2]
    command = ["setup.py", "-q", "egg_info", "--egg-base", str(tmp_path), "build_py", "--build-lib", str(tmp_path)]
    subprocess.run([sys.executable, *command], cwd=root, check=True, capture_output=True)
    assert (tmp_path / "torch_cudaagent" / "bench" / "templates" / "report.html").is_file()


def test_what_a_report_needs_is_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"plotly and jinja2; run `pip install 'torch_cudaagent\[bench\]'`"):
        report.write([tmp_path], tmp_path / "report.html")


def test_no_script_fails_and_nothing_is_fetched(page: Any) -> None:
    page.wait_for_selector(".plot .main-svg")
    assert page.problems == []
    assert page.locator("img").count() == 0


def test_every_plot_has_points(page: Any) -> None:
    plots = page.locator(".plot")
    assert plots.count() == 7  # speedup, roofline and error for two protocols; progress
    for k in range(plots.count()):
        assert plots.nth(k).locator(".scatterlayer .points path").count() > 0, k


@pytest.mark.parametrize("column", [0, 3])
def test_tables_sort_both_ways(page: Any, column: int) -> None:
    table = page.locator("table.problems")
    head = table.locator("th").nth(column)

    def texts() -> list[str]:
        return [row.locator("td").nth(column).inner_text() for row in table.locator("tbody tr").all()]

    head.click()
    down = texts()
    head.click()
    assert texts() == down[::-1] and len(set(down)) > 2
    kept = [text for text in down if text]
    wanted = sorted(kept, key=float if column else str, reverse=True)
    assert kept == wanted


def test_a_problem_opens_its_kernels_and_samples(page: Any) -> None:
    details = page.locator("details.problem").nth(1)
    details.locator("summary").click()
    details.locator(".samples .boxlayer path.box").first.wait_for()
    assert "int a<b>;" in details.inner_text() and "passed" in details.inner_text()
    assert "SIGSEGV </script>" in page.locator("details.problem").nth(4).inner_text()


def test_a_link_opens_its_problem(page: Any) -> None:
    target = page.locator("details.problem").nth(3)
    assert target.get_attribute("open") is None
    page.locator("table.problems a", has_text="50%").click()
    target.locator(".samples .boxlayer path.box").first.wait_for()
    assert page.problems == []


def test_summary_tables_open(page: Any) -> None:
    for words, cell in (("Over each baseline", "best mode"), ("Median cost", "7.0"), ("Largest time", "level2/3_C")):
        details = page.locator("details", has=page.locator("summary", has_text=words))
        details.locator("summary").click()
        assert cell in details.inner_text()


def test_screenshot_is_not_blank(page: Any, tmp_path: pathlib.Path) -> None:
    image = page.screenshot(path=str(tmp_path / "report.png"), full_page=True)
    assert image[:4] == b"\x89PNG" and len(image) > 40_000
    box = page.locator("#plots").bounding_box()
    assert box["height"] > 7 * 300
