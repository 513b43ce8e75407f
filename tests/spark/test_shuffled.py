"""What Spark has shuffled for an evaluation leaves its disk when nothing reads it any more, and nothing else does."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.engines.spark import shuffle as piece_pairs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATIENCE = 30  # seconds: Spark removes files behind the back of whoever asks for it


class Shuffled:
    """The files that Spark has written for shuffles since this was made."""

    def __init__(self, spark: SparkSession) -> None:
        self._folder = Path(spark.sparkContext.getConf().get("spark.local.dir") or "")
        self._before: set[Path] = set()
        self._before = self.now()

    def now(self) -> set[Path]:
        return set(self._folder.rglob("shuffle_*")) - self._before

    def of_first(self) -> set[Path]:
        """Those of the first shuffle; what comes after that of pieces are states."""
        numbers = {file: int(file.name.split("_")[1]) for file in self.now()}  # shuffle_<number>_<map>_0.data
        return {file for file, number in numbers.items() if number == min(numbers.values())}

    def goes(self, files: set[Path] | None = None) -> bool:
        """Whether ``files``, or all, are gone before long."""
        end = time.monotonic() + PATIENCE
        while (there := self.now() if files is None else self.now() & files) and time.monotonic() < end:
            time.sleep(0.05)
        return not there


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file, row = tmp_path_factory.mktemp("log") / "0.parquet", np.arange(400)
    rows = pa.table({"user_id": row % 40, "score": row * 37 % 101 / 101, "label": row % 7 // 6})
    pq.write_table(rows, file, row_group_size=100)
    return file


@pytest.fixture(params=["scan", "frame"])
def impressions(request: pytest.FixtureRequest, spark: SparkSession, log: Path) -> str | DataFrame:
    return str(log) if request.param == "scan" else spark.read.parquet(str(log)).coalesce(4)


@pytest.fixture
def shuffled(spark: SparkSession) -> Shuffled:
    return Shuffled(spark)


def evaluate(spark: SparkSession, impressions: str | DataFrame, **settings: object) -> sr.Evaluation:
    # with the number of buckets no DataFrame is counted, which is a query, and a shuffle, of Spark's own
    columns = {"group": "user_id", "score": "score", "label": "label"}
    return sr.evaluate(impressions, ["ndcg@3", "auc"], spark=spark, buckets=5, **columns, **settings)


def test_nothing_stays_of_what_was_shuffled(
    spark: SparkSession, impressions, shuffled: Shuffled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparkrank.inputs.buckets.FAN_IN", 2)  # states are reduced, too
    seen = []
    remove = piece_pairs.remove_shuffled
    monkeypatch.setattr(
        piece_pairs, "remove_shuffled", lambda *results: (seen.append(shuffled.of_first()), remove(*results))
    )
    evaluate(spark, impressions, group_table=str(tmp_path / "groups"))
    assert seen[0], "nothing was shuffled where this test looks"
    assert shuffled.goes(seen[0])


@pytest.mark.parametrize("lane", ["scan", "frame"])
def test_lists_in_arrays_are_not_shuffled(
    spark: SparkSession, shuffled: Shuffled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lane: str
) -> None:
    """Not a byte: what rows of the same lists leave behind, if nobody removes it, is there."""
    monkeypatch.setattr(piece_pairs, "remove_shuffled", lambda *results: None)
    lists = pa.table({"u": range(40), "shown": [["a", "b"]] * 40, "bought": [["a"], ["b"]] * 20})
    rows = pa.table({"u": [row // 2 for row in range(80)], "s": [1.0, 0.5] * 40, "y": [1, 0, 0, 1] * 20})
    for name, table in (("lists", lists), ("rows", rows)):
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=10)

    def rr(name: str, **columns: str) -> float:
        place = str(tmp_path / f"{name}.parquet")
        impressions = place if lane == "scan" else spark.read.parquet(place)
        asked = {"group": "u", "lane": lane, "buckets": 5, "group_table": False, **columns}
        return sr.evaluate(impressions, ["rr"], spark=spark, **asked)["rr"]

    assert rr("lists", items="shown", true_items="bought") == (1 + 1 / 2) / 2
    assert not shuffled.now()
    assert rr("rows", score="s", label="y") == (1 + 1 / 2) / 2
    assert shuffled.now()


def test_a_group_table_of_spark_keeps_it_until_it_is_released(
    spark: SparkSession, impressions, shuffled: Shuffled
) -> None:
    with evaluate(spark, impressions) as evaluation:
        groups = evaluation.groups.toArrow()
        assert shuffled.now()
    assert shuffled.goes()
    again = evaluation.groups.toArrow()  # costs a new pass
    assert again.sort_by("user_id").equals(groups.sort_by("user_id"))


def test_what_fails_leaves_nothing(
    spark: SparkSession, log: Path, shuffled: Shuffled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(states: Iterable[object], _: object) -> None:
        assert list(states)  # all tasks have run
        raise OSError("no space is left")

    monkeypatch.setattr(piece_pairs, "gather_states", refuse)
    with pytest.raises(OSError, match="no space is left"):
        evaluate(spark, str(log), group_table=str(tmp_path / "groups"))
    assert shuffled.goes()


def test_what_the_user_has_shuffled_stays(spark: SparkSession, log: Path, shuffled: Shuffled, tmp_path: Path) -> None:
    """An RDD that was shuffled, and is read by its files as long as they are there."""
    rows = spark.read.parquet(str(log)).select("user_id", "score", "label")
    by_user = rows.rdd.map(lambda row: (row.user_id, row)).partitionBy(3).values()
    frame = spark.createDataFrame(by_user, rows.schema)
    assert by_user.count() == rows.count()
    users = shuffled.of_first()
    assert frame.count() == rows.count()  # by the same files: Spark has counted by queries, whose shuffles are others
    evaluate(spark, frame, group_table=str(tmp_path / "groups"))
    time.sleep(1)  # what would be removed by mistake is removed by then
    assert shuffled.now() >= users


def test_a_session_that_has_ended_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    class Ended:
        ctx = SimpleNamespace(_jsc="of a Java that died")

        def cleanShuffleDependencies(self) -> None:  # noqa: N802 - Spark's name
            raise ConnectionRefusedError("no Java")

    piece_pairs.remove_shuffled(Ended())
    assert "shuffle files are left to Spark: no Java" in caplog.text
    caplog.clear()
    Ended.ctx = SimpleNamespace(_jsc=None)  # as SparkContext.stop leaves it
    piece_pairs.remove_shuffled(Ended())
    assert caplog.text == ""
