"""A day of lists and truth: the same job, from a spec with a truth section."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sparkrank.cli import main
from sparkrank.config import load_spec
from tests.jobs.conftest import DAY
from tests.support.commands import exit_code, write_spec

pytestmark = pytest.mark.job


@pytest.fixture
def day(tmp_path: Path) -> dict:
    """The spec of a day in which u was shown a to e in this order and took a, b, e and x."""
    lists = {"user": ["u"] * 5, "item": list("abcde"), "place": [1, 2, 3, 4, 5]}
    truth = {"user": ["u"] * 5, "item": list("abexa"), "stars": [1, 1, 1, 1, 0], "dt": [DAY] * 4 + ["2026-11-18"]}
    pq.write_table(pa.table(lists), tmp_path / f"lists-{DAY}.parquet")
    pq.write_table(pa.table(truth), tmp_path / "truth.parquet")
    return {
        "input": {
            "path": f"{tmp_path}/lists-{{date}}.parquet",
            "columns": {"group": "user", "item": "item", "rank": {"production": "place"}},
        },
        "truth": {"path": f"{tmp_path}/truth.parquet", "where": "dt = '{date}'", "columns": {"label": "stars"}},
        "metrics": ["ap", "r@5"],
        "output": {"path": f"{tmp_path}/tables"},
        "engine": {"lane": "local"},
    }


def _table(folder: Path, name: str) -> pd.DataFrame:
    return ds.dataset(folder / "tables" / name, partitioning="hive").to_table().to_pandas()


@pytest.mark.parametrize("lane", ["local", "auto"])
def test_a_day_of_lists_and_truth(day: dict, lane: str, tmp_path: Path, submit_in_turn) -> None:
    conf = write_spec(tmp_path, day)
    if lane == "local":
        main(["evaluate", "--conf", conf, "--date", DAY])
    else:
        ((code, told),) = submit_in_turn(["evaluate", "--conf", conf, "--date", DAY, "--set", f"engine.lane={lane}"])
        assert code == 0, told
    values = _table(tmp_path, "metrics").set_index("metric")["value"]
    assert values["ap"] == pytest.approx((1 / 1 + 2 / 2 + 3 / 5) / 4, rel=1e-15)
    assert values["r@5"] == 3 / 4
    counts = _table(tmp_path, "quality").set_index("check")["count"]
    assert (counts["rows read"], counts["rows of truth"], counts["truth in no list"]) == (9, 4, 1)
    assert _table(tmp_path, "groups")["n_relevant"].tolist() == [4]
    assert f"{tmp_path}/truth.parquet" in _table(tmp_path, "runs")["input"][0]


def test_the_truth_and_the_definitions_are_in_the_hash(day: dict, tmp_path: Path) -> None:
    conf = write_spec(tmp_path, day)
    same = {load_spec(conf, [override]).hash() for override in ("day=2026-11-19", "engine.lane=auto")}
    others = ("truth.path=elsewhere", "definitions.duplicates=first", "truth.columns.label=grade")
    assert len(same) == 1
    assert len(same | {load_spec(conf, [override]).hash() for override in others}) == 4


# Of what columns and a spec alone tell, see tests/bucket/test_truth_columns.py and tests/config.
REFUSED = [
    ("truth.columns.label=star", 4, 'the label column "star" is not in the truth, did you mean "stars"?'),
    ("truth.columns.item=user", 2, 'column "user" of the truth is both group and item'),
    ("truth.path=nowhere", 4, "there is no parquet truth at nowhere"),
    ("truth.format=csv", 4, "truth.parquet of the truth cannot be read as csv: "),
    ("input.columns.label=place", 2, 'label="place" and a truth'),
    ("definitions={duplicates: error}", 0, ""),
]


@pytest.mark.parametrize(("override", "code", "sentence"), REFUSED)
def test_what_cannot_be_is_refused_by_exit_code(
    day: dict, tmp_path: Path, capsys, override: str, code: int, sentence: str
) -> None:
    ended = exit_code("evaluate", "--conf", write_spec(tmp_path, day), "--date", DAY, "--set", override)
    told = capsys.readouterr().err.strip()
    assert (ended, len(told.splitlines())) == (code, bool(code)), told
    assert sentence in told
    assert (tmp_path / "tables").exists() == (code == 0)
