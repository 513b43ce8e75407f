"""The marks that stand for days in a spec: how they are written, what is refused, and which days are read."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import yaml

from sparkrank.base.errors import SpecError
from sparkrank.config import load_spec
from sparkrank.config.places import among
from sparkrank.inputs.day_marks import (
    as_pattern,
    check_name,
    check_path,
    check_sql,
    in_window,
    on_any_day,
    on_day,
    on_days,
)
from tests.support.commands import exit_code, write_spec
from tests.support.parquet_files import write

WRITTEN = {
    "dt={date}": "dt=2027-01-01",
    "dt={date:%Y%m%d}": "dt=20270101",
    "year={date:%Y}/month={date:%m}/day={date:%d}": "year=2027/month=01/day=01",
    "{date:year=%Y/month=%-m/day=%-d}": "year=2027/month=1/day=1",
    "{date-1:%Y%m%d}, {date_nodash-1}": "20261231, 20261231",
    "{date+31:%d.%m.%y}": "01.02.27",
    "{date:%G-W%V-%u}": "2026-W53-5",  # the Friday of a week that began in December
    "{date:%j} {date-1:%-j} {date:%F %%}": "001 365 2027-01-01 %",
    "no mark, {a,b}": "no mark, {a,b}",
    "../a/{x={date},{date-1}}/../b": "../a/{x=2027-01-01,2026-12-31}/../b",
}


def test_a_mark_is_the_day_as_it_is_asked_for() -> None:
    assert {text: on_day(text, "2027-01-01") for text in WRITTEN} == WRITTEN
    with pytest.raises(SpecError, match=r"\{date-1\} of 0001-01-01 is beyond the calendar"):
        on_day("{date-1}", "0001-01-01")


def test_parts_are_those_of_python() -> None:
    for form in ("%Y", "%y", "%m", "%d", "%j", "%G", "%V", "%u", "%F"):
        for day in ("2024-02-29", "2026-12-31", "2027-01-01", "0999-03-04"):
            expected = dt.date.fromisoformat(day).strftime(form)
            assert on_day(f"{{date:{form}}}", day) == expected.zfill({"%Y": 4, "%G": 4, "%F": 10}.get(form, 1))


def test_a_range_is_every_day_from_end_to_end() -> None:
    assert on_days("/t/dt={date}/x", "2026-01-31") == ["/t/dt=2026-01-31/x"]
    days = ("2026-02-28", "2026-03-01", "2026-03-02")
    assert on_days("/t/dt={date-1}..{date+1}/x", "2026-03-01") == [f"/t/dt={day}/x" for day in days]
    layout = "{date:year=%Y/month=%m/day=%d}..{date+1:year=%Y/month=%m/day=%d}"
    written = [f"/run=2026-12-31/{day}" for day in ("year=2026/month=12/day=31", "year=2027/month=01/day=01")]
    assert on_days(f"/run={{date}}/{layout}", "2026-12-31") == written
    assert on_days("{date}..{date}", "2026-12-31") == ["2026-12-31"]
    assert as_pattern("/t/{date}..{date+1:%Y-%m-%d}/x", "2026-12-31") == "/t/{2026-12-31,2027-01-01}/x"
    assert as_pattern("/t/{date}..{date}/{a,b}", "2026-12-31") == "/t/2026-12-31/{a,b}"


def test_the_folder_of_a_window_has_both_of_its_ends() -> None:
    assert in_window("/o/{date:%Y%m%d}", "2026-01-01", "2026-01-07") == "/o/20260101..20260107"
    year = "[0-9]" * 4
    assert on_any_day("/o/{date-1}..{date+3}/{date:%-m}/{date:%Y}") == f"/o/{year}-[0-9][0-9]-[0-9][0-9]/[0-9]*/{year}"


WHOLE = "input: {path: log, columns: {group: u, score: s, label: l}}\nmetrics: [rr]\noutput: {path: tables}"
NO_MARKS = [
    ("{ds}", "{ds} is not a mark"),
    ("{Date}", '{Date} is not a mark, did you mean "{date}"? (allowed: {date}, '),
    ("{date-1d}", "{date-1d} is not a mark"),
    ("{date:}", "{date:} has a format without a part of a day: it takes %Y, %y, %m, "),
    ("{date:month}", "{date:month} has a format without a part of a day"),
    ("{date:%Y%M%d}", "{date:%Y%M%d} has the unknown part %M: a format of a day takes %Y, %y, %m, "),
    ("{date", "{date"),
    ("{date:%Y%m%d", "{date:%Y%m%d"),
    ("{date_nodash and {date}", "{date_nodash and "),
    ("{{date}}", "{"),
    ("{{ date }}", "{"),
    ("{date_nodash:%Y}", "{date_nodash:%Y} has two formats: {date_nodash} is {date:%Y%m%d}"),
]
CHECKS = {
    **dict.fromkeys(("input.path", "truth.path"), check_path),
    **dict.fromkeys(("input.where", "truth.where"), check_sql),
    **dict.fromkeys(("input.table", "output.path"), check_name),
}


def message_of(action: Callable[..., object], *arguments: object) -> str:
    """The sentence with which ``action`` is refused; an empty text where it is not."""
    try:
        action(*arguments)
    except (SpecError, ValueError) as error:
        return str(error)
    return ""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "spec.yaml").write_text(WHOLE, encoding="utf-8")
    return tmp_path / "spec.yaml"


def test_a_mark_that_is_none_is_refused_wherever_it_stands(conf: Path) -> None:
    places = itertools.product({*CHECKS.values()}, NO_MARKS)
    assert [(check, mark) for check, (mark, told) in places if told not in message_of(check, f"dt={mark}")] == []
    for key in CHECKS:
        beside = {"input.table": ["input.path=null"], "truth.where": ["truth.path=x"]}.get(key, [])
        message = message_of(load_spec, conf, [f"{key}={json.dumps('dt={ds}')}", *beside])
        assert key in message
        assert "{ds} is not a mark" in message


NO_RANGES = [
    ("{date}..{date+3}/{date}..{date+3}", "{date}..{date+3} is a second range of days: a path takes one"),
    ("{date}..{date_nodash+3}", "has ends in two formats: one is needed"),
    ("{date+3}..{date}", "is a range of 0 days: 1 to 1000 days are allowed, the earliest first"),
    ("y={date:%Y}/m={date:%m}/d={date:%d}..{date+7:%d}", "has ends that are not whole days: write the whole day"),
    ("{date}..{dt+7}", "{dt+7} is not a mark"),
    ("{date-1}..{date}..{date+1}", "..{date+1} is not a range of days: it has a mark at both ends"),
    ("dt=2026-01-01..{date}", "dt=2026-01-01..{date} is not a range of days"),
    ("{date}..", "{date}.. is not a range of days"),
    ("{a,{date}", "{a,{date} opens a brace that is not closed"),
    ("a}/{date}", "}/{date} closes a brace that is not open"),
    ("{x{date}}", "{x{date}} is not a mark"),
]


def test_a_range_that_is_none_is_refused() -> None:
    assert [path for path, told in NO_RANGES if told not in message_of(check_path, path)] == []
    for check in (check_name, check_sql):
        told = message_of(check, "x/{date}..{date+7}")
        assert "is a range of days, which is allowed only in the path of an input or of a truth" in told


def test_braces_of_sql_and_of_patterns_stay(conf: Path) -> None:
    for key, text in (
        ("where", "x rlike '[a-z]{2}' and y rlike '\\p{L}{1,3}' and z = '{\"a\": 1}'"),
        ("path", "log/{a,b}/{date}"),
        ("path", "log/{dates,views}"),
    ):
        assert getattr(load_spec(conf, [f"input.{key}={json.dumps(text)}"]).input, key) == text


def test_tables_among_the_rows_of_any_day_are_found() -> None:
    for rows, output, is_among in (
        ("/log/dt={date:%Y%m%d}", "/log/dt=20260131/tables", True),
        ("/log/{date:%Y/%m}/{date:%d}", "/log/2026/01/31/tables", True),
        ("/log/{date:%Y/%m}/{date:%d}", "/log/2026/01", False),
        ("/log/dt={date}..{date+7}", "/log/dt={date-30}/tables", True),
        ("/log/m={date:%-m}", "/log/m={date:%-m}/tables", True),
        ("/log/dt={date_nodash}", "/log/dt={date}/tables", False),
    ):
        assert among(output, rows) == is_among, rows


def _job(tmp_path: Path, document: dict, *arguments: str, command: str = "evaluate") -> int:
    conf = write_spec(tmp_path, {"metrics": ["rr"], "engine": {"lane": "local"}, **document})
    return exit_code(command, "--conf", conf, *arguments)


COLUMNS = {"group": "u", "item": "i", "score": "s"}


def test_layouts_of_days_are_read_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The click is second in the list of the day: 1/2. Lists of other days have it first."""
    for day, clicks in (("2026/02/28", [1, 0]), ("2026/03/01", [0, 1]), ("2026/03/02", [1, 0])):
        write(tmp_path / f"in/{day}/p.parquet", u=["a", "a"], i=["x", "y"], s=[2.0, 1.0], l=clicks)
    document = {
        "input": {"path": f"{tmp_path}/in/{{date:%Y}}/{{date:%m/%d}}", "columns": {**COLUMNS, "label": "l"}},
        "output": {"path": f"{tmp_path}/out/{{date:%Y%m%d}}"},
    }

    def stored(table: str, column: str) -> list:
        return pq.read_table(tmp_path / "out" / table)[column].to_pylist()

    assert _job(tmp_path, document, "--date", "2026-03-01") == 0
    assert stored("20260301/metrics/day=2026-03-01", "value") == [1 / 2]
    assert stored("20260301/runs/day=2026-03-01", "input") == [f"{tmp_path}/in/2026/03/01"]
    assert _job(tmp_path, document, "--from", "2026-03-01", "--to", "2026-03-01", command="merge") == 0
    assert stored("20260301..20260301/windows/metrics/window=2026-03-01..2026-03-01", "value") == [1 / 2]
    document["input"]["path"] = f"{tmp_path}/in/{{date-1:%Y/%m/%d}}"
    assert _job(tmp_path, document, "--date", "2026-03-01") == 0
    assert stored("20260301/metrics/day=2026-03-01", "value") == [1]
    assert not capsys.readouterr().err


def test_a_truth_of_the_days_that_follow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of ann's list a, b, c she bought c on the day and b two days later: the first hit is b, at 2."""
    write(tmp_path / "in/dt=2026-02-27/p.parquet", u=["ann"] * 3, i=["a", "b", "c"], s=[3.0, 2.0, 1.0])
    for day, item in (("2026-02-27", "c"), ("2026-02-28", "z"), ("2026-03-01", "b"), ("2026-03-02", "a")):
        write(tmp_path / f"truth/dt={day}/p.parquet", u=["ann"], i=[item])
    document = {
        "input": {"path": f"{tmp_path}/in/dt={{date}}", "columns": COLUMNS},
        "truth": {"path": f"{tmp_path}/truth/dt={{date}}..{{date+2}}"},
        "output": {"path": f"{tmp_path}/out"},
    }
    assert _job(tmp_path, document, "--date", "2026-02-27") == 0
    assert ds.dataset(tmp_path / "out/metrics").to_table()["value"].to_pylist() == [1 / 2]
    capsys.readouterr()
    assert _job(tmp_path, document, "--date", "2026-02-27", command="validate") == 0
    printed = capsys.readouterr().out
    lines = [f"# truth.path: {tmp_path}/truth/dt={day}" for day in ("2026-02-27", "2026-02-28", "2026-03-01")]
    assert "\n".join(lines) in printed
    assert f"# input.path: {tmp_path}/in/dt=2026-02-27\n" in printed
    assert f"# output.path: {tmp_path}/out\n" in printed
    assert yaml.safe_load(printed)["truth"]["path"] == document["truth"]["path"]  # it stays a spec
    document["truth"]["path"] = f"{tmp_path}/truth/dt={{date-1}}..{{date+4}}"
    (tmp_path / "truth/dt=2026-03-03").mkdir()  # a day that is there and has no file
    assert _job(tmp_path, document, "--date", "2026-02-27") == 4
    places = [f"{tmp_path}/truth/dt={day}" for day in ("2026-02-26", "2026-03-03")]
    assert capsys.readouterr().err == f"sparkrank: there is no parquet truth at {', '.join(places)}\n"


def test_a_day_has_one_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = {"input": {"path": "in", "columns": {**COLUMNS, "label": "l"}}, "output": {"path": str(tmp_path)}}
    for day in ("20260101", "2026-W01-1", "2026-1-1", "2026-02-30", " 2026-01-01", "٢٠٢٦-01-01", ""):
        for command, *options in (
            ("evaluate", "--date", day),
            ("validate", "--date", day),
            ("merge", "--from", day, "--to", "2026-01-01"),
            ("merge", "--from", "2026-01-01", "--to", day),
        ):
            assert _job(tmp_path, document, *options, command=command) == 2
            assert f"{day} is not a day of the form YYYY-MM-DD" in capsys.readouterr().err


@pytest.mark.parametrize("letters", ["z", ".", "..", "z ", "z/..", "2}", "{2}", "{date}/"])
def test_long_texts_are_looked_at_once(letters: str) -> None:
    """Of a million letters, once for each of them is longer than a test may take."""
    text = letters * (1_000_000 // len(letters))
    check_sql(text)
    if "2" not in letters:  # in a name all braces are those of marks
        check_name(text)
        assert len(on_day(text, "2026-11-19")) >= 1_000_000
