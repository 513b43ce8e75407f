"""The index of reports: every day with its verdict, and the marks by which reports find their neighbours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkrank.jobs import report_index
from tests.support.commands import exit_code
from tests.support.reports import conf_of, rows_of, stub_page, write_log

pytest.importorskip("jinja2")
index_page = pytest.importorskip("sparkrank.report.index_page")

TITLES = {
    "2026-01-02": "✕ Fail, and accepted - <b>home</b> - 2026-01-02",
    "2026-01-03": None,  # evaluated without a report
    "2026-01-06": "✓ Pass - home - 2026-01-06",
    "2026-01-07": "Evaluation - 2026-01-07",
}


def rows(page: str) -> list[str]:
    lines = re.findall(r"<tr>(<th scope=row>.*?)</tr>", page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", line).split()) for line in lines]


def test_the_latest_stands_first_and_gaps_are_marked() -> None:
    page = index_page.index_page("<i>home</i>", "day", TITLES)
    assert rows(page) == [
        "2026-01-07 no verdict",
        "2026-01-06 ✓ Pass",
        "2026-01-04..2026-01-05 ! not evaluated",
        "2026-01-03 no report",
        "2026-01-02 ✕ Fail, and accepted",
    ]
    assert "<i>" not in page
    assert "<b>" not in page


def test_neighbours_are_those_with_a_report() -> None:
    page = index_page.index_page(None, "day", TITLES)
    (line,) = [line for line in page.split("\n") if 'href="day=2026-01-02/report.html"' in line]
    assert re.findall(r'span id="([^"]*)"', line) == ["before-2026-01-06"]
    (line,) = [line for line in page.split("\n") if 'href="day=2026-01-06/report.html"' in line]
    assert re.findall(r'span id="([^"]*)"', line) == ["before-2026-01-07", "after-2026-01-02"]


def test_windows_have_no_gaps() -> None:
    titles = dict.fromkeys(("2026-01-01..2026-01-07", "2026-03-01..2026-03-07"), "✓ Pass - a - b")
    assert len(rows(index_page.index_page(None, "window", titles))) == 2


def test_runs_write_it_and_a_day_is_shown_even_if_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stub_page(monkeypatch)
    gates = [{"metric": "rr", "model": "old", "min": 0.99}]
    conf = conf_of(tmp_path, gates=gates, history={}, name="home", output={"path": f"{tmp_path}/out", "report": True})
    index = tmp_path / "out/report/index.html"
    for number, day in enumerate(("2026-01-29", "2026-01-31")):
        write_log(tmp_path, day, rows_of(number, 300))
        assert exit_code("evaluate", "--quiet", "--conf", conf, "--date", day) == 3
    gap = "2026-01-30 ! not evaluated"
    assert rows(index.read_text(encoding="utf-8")) == ["2026-01-31 ✕ Fail", gap, "2026-01-29 ✕ Fail"]
    assert exit_code("accept", "--quiet", "--conf", conf, "--date", "2026-01-29", "--reason", "known") == 0
    lines = ["2026-01-31 ✕ Fail", gap, "2026-01-29 ✕ Fail, and accepted"]
    assert rows(index.read_text(encoding="utf-8")) == lines
    (page,) = (tmp_path / "out/report/day=2026-01-29").iterdir()
    assert page.name == "report.html"
    assert "<title>✕ Fail, and accepted - home - 2026-01-29</title>" in page.read_text(encoding="utf-8")
    for words, exported in ((("--date", "2026-01-29"), lines[2:]), ((), lines)):  # pages link to the index beside them
        assert exit_code("export", "--quiet", "--conf", conf, *words, f"{tmp_path}/goal") == 0
        assert rows((tmp_path / "goal/report/index.html").read_text(encoding="utf-8")) == exported
    monkeypatch.chdir(tmp_path)
    assert exit_code("report", "--quiet", "--conf", conf, "--date", "2026-01-29") == 0
    assert Path("home-2026-01-29.html").exists()

    def broken(*_: object) -> str:
        raise OSError("no space left")

    monkeypatch.setattr(report_index, "index_page", broken)
    assert exit_code("evaluate", "--conf", conf, "--date", "2026-01-31") == 3
    assert "The index of reports in" in capsys.readouterr().out
    assert rows(index.read_text(encoding="utf-8")) == lines
    assert [path.name for path in index.parent.iterdir() if path.name.startswith(".")] == []
