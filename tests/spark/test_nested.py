"""Values inside of columns in every lane: the same bits, written by Spark or not, classic and over what pandas had."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.ml.linalg import Vectors

import sparkrank as sr
from tests.sources.test_nested import NESTED, log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _values(evaluation: sr.Evaluation) -> list[str]:
    with evaluation:
        return [repr(value) for value in evaluation.table["value"].to_pylist()]


@pytest.fixture(scope="module")
def vectors(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, object]:
    """What Spark ML writes: dense and sparse vectors of two and of three, nulls, an array of doubles."""

    def row(place: int) -> tuple[object, ...]:
        user, score = place % 9, place * 37 % 101 / 101
        two = Vectors.sparse(2, {1: score}) if user % 2 else Vectors.dense(1 - score, score)
        three = Vectors.sparse(3, {0: 1.0}) if score > 0.9 else Vectors.dense(0.0, score, 0.0)
        of_two = (two, score) if score >= 0.05 else (None, None)
        return (user, int(place % 3 == 0), *of_two, three, 0.0 if score > 0.9 else score)

    frame = spark.createDataFrame(map(row, range(90)), ["u", "y", "probability", "plain", "three", "zeroed"])
    path = str(tmp_path_factory.mktemp("vectors") / "rows")
    frame.repartition(2).write.parquet(path)
    return path, frame


def test_vectors_of_spark_ml(spark: SparkSession, vectors: tuple, tmp_path: Path) -> None:
    """As the plain columns of the same numbers; one of three is refused, also where Spark did not write it."""
    path, frame = vectors
    roles = {"group": "u", "label": "y", "buckets": 2}
    inside = {"a": "probability", "b": "probability[1]", "c": "three[1]"}
    expected = _values(sr.evaluate(path, ["ap", "logloss"], score={"a": "plain", "b": "plain", "c": "zeroed"}, **roles))
    pq.write_table(log(three=NESTED["v"]), foreign := str(tmp_path / "rows.parquet"))
    sentence = r'^the m score column "three" has a vector of another size than 2: name the element .*, as three\[2\]$'
    for rows, session in (
        (path, None),
        (path, spark),
        (frame, spark),
        (spark.read.parquet(foreign).coalesce(1), spark),
    ):
        if rows is path or rows is frame:
            assert _values(sr.evaluate(rows, ["ap", "logloss"], score=inside, spark=session, **roles)) == expected
        with pytest.raises(sr.InputError, match=sentence):
            sr.evaluate(rows, ["auc"], group="u", label="y", score={"m": "three"}, spark=session)


def test_a_truth_in_memory_beside_a_frame(spark: SparkSession) -> None:
    """Its columns inside of others, and none that has no role: Spark has no type for one of them."""
    lists = spark.createDataFrame([(1, 5, 0.5), (1, 6, 0.25)], ["u", "i", "s"])
    truth = pa.table({"row": [{"u": 1, "i": 6}], "odd": pa.array([pa.MonthDayNano([1, 0, 0])])})
    named = {"group": "row.u", "item": "row.i"}
    found = sr.evaluate(lists, ["rr"], group="u", item="i", score="s", truth=truth, truth_columns=named, buckets=1)
    assert _values(found) == [repr(1 / 2)]
