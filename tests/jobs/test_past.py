"""A day beside what its groups had before: the same job, from a spec with sections of it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sparkrank.config import load_spec
from tests.jobs.conftest import DAY
from tests.support.commands import exit_code, write_spec

pytestmark = pytest.mark.job


@pytest.fixture
def day(tmp_path: Path) -> dict:
    """The spec of a day in which a list shows old and new, of which new is wanted, after old was bought."""
    files = {
        "lists": {"user": ["a", "a"], "item": ["old", "new"], "score": [2.0, 1.0]},
        "truth": {"user": ["a"], "item": ["new"]},
        f"bought-{DAY}": {"buyer": ["a", "b"], "sku": ["old", "new"], "day": [1, 2]},
        "empty": {"user": pa.array([], pa.string()), "item": pa.array([], pa.string())},
        "whole": {"user": [7], "item": [7]},
    }
    for name, columns in files.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    columns = {"group": "user", "item": "item", "score": "score"}
    return {
        "input": {"path": f"{tmp_path}/lists.parquet", "columns": columns},
        "truth": {"path": f"{tmp_path}/truth.parquet"},
        "interactions": {"path": f"{tmp_path}/bought-{{date}}.parquet", "columns": {"group": "buyer", "item": "sku"}},
        "metrics": ["rr", "new@2"],
        "output": {"path": f"{tmp_path}/tables"},
        "engine": {"lane": "local"},
    }


def _run(folder: Path, document: dict) -> int:
    return exit_code("evaluate", "--conf", write_spec(folder, document), "--date", DAY)


def _column(folder: Path, table: str, key: str, value: str) -> dict[str, float]:
    rows = ds.dataset(folder / "tables" / table, partitioning="hive").to_table().to_pylist()
    return {row[key]: row[value] for row in rows}


def test_a_day_beside_its_interactions(day: dict, tmp_path: Path) -> None:
    """new@2 tells old and new apart; without old, the row of new stands first, which is half of two places."""
    assert _run(tmp_path, day) == 0
    assert _column(tmp_path, "metrics", "metric", "value") == {"rr": 1 / 2, "new@2": 1 / 2}
    assert _run(tmp_path, {**day, "exclude": "interactions"}) == 0
    assert _column(tmp_path, "metrics", "metric", "value") == {"rr": 1.0, "new@2": 1 / 2}
    counts = _column(tmp_path, "quality", "check", "count")
    assert (counts["rows read"], counts["rows of the interactions"], counts["rows that the group had before"]) == (
        3,
        2,
        1,
    )
    (spec,) = _column(tmp_path, "runs", "spec", "input")
    assert '"exclude": "interactions"' in spec
    (paths,) = _column(tmp_path, "runs", "input", "spec")
    assert paths.endswith(f"truth.parquet with interactions {tmp_path}/bought-{DAY}.parquet")


def test_presets_of_a_day_are_explained_without_what_their_metrics_do_not_read(day: dict, tmp_path: Path) -> None:
    at = ("--conf", write_spec(tmp_path, day), "--date", DAY)
    assert exit_code("explain", *at, "--from", "trec_eval", "--to", "recommenders", "ap@2") == 0


def test_what_a_spec_and_its_hash_say(day: dict, tmp_path: Path) -> None:
    plain = {name: section for name, section in day.items() if name != "interactions"} | {"metrics": ["rr"]}
    pairs = {**day["interactions"], "optional": True}
    documents = [plain, day, {**day, "exclude": "interactions"}, {**plain, "exclude": pairs}]
    specs = [load_spec(write_spec(tmp_path, document)) for document in documents]
    assert len({spec.hash() for spec in specs}) == len({spec.source() for spec in specs[:2]}) + 2 == 4
    assert specs[3].hash() == load_spec(write_spec(tmp_path, {**plain, "exclude": day["interactions"]})).hash()
    assert [what for what, _ in specs[3].places] == ["input", "truth", "exclude"]


ASKED = [
    ({"path": "{0}/empty.parquet"}, 4, "the table interactions has no rows (in a spec, optional: true allows it)"),
    ({"path": "{0}/empty.parquet", "optional": True}, 0, ""),
    ({"path": "{0}/none.parquet"}, 4, "there is no parquet interactions at"),
    ({"path": "{0}/none.parquet", "optional": True}, 0, ""),
    ({"path": "{0}/whole.parquet"}, 4, "the group column is of type string in the lists"),
    ({"path": "{0}/lists.parquet", "columns": {"item": "itm"}}, 2, 'the item column "itm" is not in the interactions'),
    ({"path": "{0}/lists.parquet", "columns": {"itme": "i"}}, 2, "itme"),
    ({"path": "{0}/lists.parquet", "expect": {"min_rows": 3}}, 4, "the interactions is incomplete: 2 rows were read"),
    (None, 2, "new@2 reads interactions, but no interactions are given"),
]


@pytest.mark.parametrize(("section", "code", "told"), ASKED)
def test_what_a_table_of_the_past_is_refused_for(
    day: dict, section: dict | None, code: int, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {name: value for name, value in day.items() if name != "interactions"}
    if section is not None:
        document["interactions"] = {**section, "path": section["path"].format(tmp_path)}
    assert _run(tmp_path, document) == code
    assert told in capsys.readouterr().err
    if code == 0:
        assert _column(tmp_path, "metrics", "metric", "value")["new@2"] == 1.0  # nobody had anything


@pytest.fixture
def timed_day(day: dict, tmp_path: Path) -> dict:
    """The day with dates: new was wanted a day after the list, and bought then, too; of old the catalog has no date."""
    first, second = dt.date(2026, 1, 1), dt.date(2026, 1, 2)
    files = {
        "lists": {"user": ["a", "a"], "item": ["old", "new"], "score": [2.0, 1.0], "on": [first, first]},
        "truth": {"user": ["a"], "item": ["new"], "on": [second]},
        f"bought-{DAY}": {"buyer": ["a", "a"], "sku": ["old", "new"], "day": [first, second]},
        "catalog": {"item": ["new", "old"], "since": [second, None]},
    }
    for name, columns in files.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    past = {**day["interactions"], "columns": {"group": "buyer", "item": "sku", "time": "day"}}
    lists = {**day["input"], "columns": {**day["input"]["columns"], "time": "on"}}
    truth = {**day["truth"], "columns": {"time": "on"}}
    catalog = {"path": f"{tmp_path}/catalog.parquet", "columns": {"since": "since"}}
    return {**day, "input": lists, "truth": truth, "interactions": past, "catalog": catalog}


EARLY = [
    ("rows of the truth before the list", 0.0, 0),
    ("rows of the truth that the history has", 0.0, 0),  # it was bought after the list, which is no leak
    ("rows of the history after the list", 0.0, 4),
    ("rows of the history after the list", 0.5, 0),
    ("items listed before they were there", 0.4, 4),
    ("items listed before they were there", 0.5, 0),
]


@pytest.mark.parametrize(("check", "limit", "code"), EARLY)
def test_limits_stop_a_day_with_what_came_too_early(
    timed_day: dict, check: str, limit: float, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(tmp_path, {**timed_day, "quality": {"limits": {check: limit}}}) == code
    if code:
        assert f'"{check}" is 50.0000% (1) of rows of the' in capsys.readouterr().err
        return
    assert _column(tmp_path, "metrics", "metric", "value") == {"rr": 1 / 2, "new@2": 1 / 2}


def test_a_truth_that_the_history_has_stops_a_day(
    day: dict, timed_day: dict, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a time of the lists, new was bought at any time."""
    untimed = {**timed_day, "input": day["input"], "truth": day["truth"]}
    del untimed["catalog"]
    had = "rows of the truth that the history has"
    assert _run(tmp_path, {**untimed, "quality": {"limits": {had: 0}}}) == 4
    assert f'"{had}" is 100.0000% (1) of rows of truth, and limits allows 0.0000%' in capsys.readouterr().err
    excluded = {**untimed, "exclude": "interactions", "quality": {"limits": {had: 0}}}
    assert _run(tmp_path, excluded) == 2  # these are left out, and counted as rows that the group had before
    assert "which this run does not count" in capsys.readouterr().err


def test_times_of_a_spec_are_in_its_hash_and_in_definitions(day: dict, timed_day: dict, tmp_path: Path) -> None:
    timed, plain = (load_spec(write_spec(tmp_path, {**own, "exclude": "interactions"})) for own in (timed_day, day))
    assert timed.hash() != plain.hash()
    assert timed.plan().settings == f"{plain.plan().settings} up to the list"
    at = ("--conf", write_spec(tmp_path, timed_day), "--date", DAY)
    assert exit_code("explain", *at, "--from", "trec_eval", "--to", "recommenders", "ap@2") == 0
    assert exit_code("explain", *at, "--group", "user=a", "--metric", "rr") == 0


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (("truth", "interactions", "catalog"), "nothing has a time to compare with it"),
        (("input",), 'the truth has a time column, "on", but the lists name none'),
        (("input", "truth"), "the lists name no time to compare with"),
    ],
)
def test_times_of_one_side_alone_are_refused(
    day: dict, timed_day: dict, keys: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {**timed_day, **{key: day[key] for key in keys if key in day}}
    document = {key: section for key, section in document.items() if key not in keys or key in day}
    assert _run(tmp_path, document) == 2
    assert told in capsys.readouterr().err
