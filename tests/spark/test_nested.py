"""Values inside of columns in every lane: the same bits, written by Spark or not, classic and over what pandas had."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F

import sparkrank as sr
from tests.sources.test_nested import (
    ALS,
    AUC,
    BEYOND,
    FORMS,
    NESTED,
    OF_MAPS,
    VECTOR,
    dense,
    log,
    of_nan_ratings,
    sparse,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _values(evaluation: sr.Evaluation) -> list[str]:
    with evaluation:
        return [repr(value) for value in evaluation.table["value"].to_pylist()]


def test_scores_inside_of_columns_and_maps_in_every_lane(spark: SparkSession, tmp_path: Path) -> None:
    """Each form as a model of its own, in columns whose names begin with its place."""
    forms = [*FORMS.values(), *((name, {"m": column}) for name, column in OF_MAPS.values())]
    columns = {f"f{place}{of}": column for place, (_, held) in enumerate(forms) for of, column in held.items()}
    scores = {f"{place}": f"f{place}{name}" for place, (name, _) in enumerate(forms)}
    pq.write_table(log(**columns), path := str(tmp_path / "rows.parquet"))
    roles = {"group": "u", "score": scores, "label": "y", "buckets": 2}
    for rows, lane in ((path, "scan"), (spark.read.parquet(path), "frame"), (path, "frame")):
        with sr.evaluate(rows, ["auc(exact)"], spark=spark, lane=lane, **roles) as found:
            assert found.lane == lane
            values = dict(zip(found.table["model"].to_pylist(), found.table["value"].to_pylist(), strict=True))
        assert values == dict.fromkeys(scores, AUC), lane


@pytest.fixture(scope="module")
def vectors(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, object]:
    """What Spark ML writes: dense and sparse vectors of two and of three, nulls, an array of doubles."""
    of = [(u % 9, u % 3 == 0, u * 37 % 101 / 101) for u in range(90)]
    rows = [
        (
            user,
            int(label),
            None if score < 0.05 else Vectors.sparse(2, {1: score}) if user % 2 else Vectors.dense(1 - score, score),
            Vectors.sparse(3, {0: 1.0}) if score > 0.9 else Vectors.dense(0.0, score, 0.0),
            score if score > 0.05 else None,
            0.0 if score > 0.9 else score,
        )
        for user, label, score in of
    ]
    frame = spark.createDataFrame(rows, ["u", "y", "probability", "three", "plain", "zeroed"])
    path = str(tmp_path_factory.mktemp("vectors") / "rows")
    frame.repartition(2).write.parquet(path)
    return path, frame


def test_vectors_of_spark_ml(spark: SparkSession, vectors: tuple) -> None:
    """As the plain columns of the same numbers, each with the others and, where it names no place, alone."""
    path, frame = vectors
    roles = {"group": "u", "label": "y", "buckets": 2}
    plain = {"a": "plain", "b": "plain", "c": "zeroed"}
    inside = {"a": "probability", "b": "probability[1]", "c": "three[1]"}
    for metrics, scores, of in (
        (["ndcg@3", "auc(exact)", "gauc", "ap", "logloss"], inside, plain),
        (["ap", "logloss"], {"m": "probability"}, {"m": "plain"}),
    ):
        expected = _values(sr.evaluate(path, metrics, score=of, **roles))
        for rows, session in ((path, None), (path, spark), (frame, spark), (spark.read.parquet(path), spark)):
            assert _values(sr.evaluate(rows, metrics, score=scores, spark=session, **roles)) == expected


def test_a_vector_of_three_is_refused_in_every_lane(spark: SparkSession, vectors: tuple, tmp_path: Path) -> None:
    """By one sentence, that of Spark and of files that Spark did not write too."""
    path, frame = vectors
    pq.write_table(log(three=NESTED["v"]), foreign := str(tmp_path / "rows.parquet"))
    sentence = r'^the m score column "three" has a vector of another size than 2: name the element .*, as three\[2\]$'
    for rows, session in (
        (path, None),
        (path, spark),
        (frame, spark),
        (foreign, None),
        (spark.read.parquet(foreign), spark),
    ):
        with pytest.raises(sr.InputError, match=sentence):
            sr.evaluate(rows, ["auc"], group="u", label="y", score={"m": "three"}, spark=session)


def test_what_is_beyond_the_end_is_told_in_every_lane(spark: SparkSession, tmp_path: Path) -> None:
    """Each form in a frame, whose values Spark takes; in files Arrow does, which needs one form with a session."""
    for number, (name, column) in enumerate(BEYOND.items()):
        rows = log().append_column(re.split(r"[.\[]", name)[0], column)
        pq.write_table(rows, path := str(tmp_path / f"{number}.parquet"))
        told = re.escape("(2 NaN score): max_bad_fraction allows 0.0000%, and a null score means not retrieved, and an")
        for given in (spark.read.parquet(path), *([path] if number == 0 else [])):
            with pytest.raises(sr.InputError, match=rf"{told} .*{re.escape(name)} gives NaN$"):
                sr.evaluate(given, ["rr"], group="u", label="y", score=name, spark=spark)


def test_elements_beyond_the_end_in_every_lane(spark: SparkSession, tmp_path: Path) -> None:
    of = [[0.0, 1.0, 2.0], [0.0, 1.0], [5.0, 6.0, 7.0], None, [0.0, 0.0, 0.0]]
    kinds = [None if x is None else (sparse(len(x), **{"0": 1.0}) if i % 2 else dense(*x)) for i, x in enumerate(of)]
    rows = log(
        v=pa.array(kinds, VECTOR), s=pa.array(of), n=pa.array([None if x is None else list(map(int, x)) for x in of])
    )
    pq.write_table(rows, path := str(tmp_path / "rows.parquet"))
    for name, bad in (("v[2]", 1), ("s[2]", 1), ("n[2]", 1)):
        found = []
        for given, session in ((path, None), (path, spark), (spark.read.parquet(path), spark)):
            evaluated = sr.evaluate(
                given, ["rr"], group="u", label="y", score={"m": name}, spark=session, max_bad_fraction=1.0
            )
            counts = {row["check"]: row["count"] for row in evaluated.quality.to_pylist()}
            found.append((counts["rejected: NaN score"], counts["rows with a score"], _values(evaluated)))
        assert found[0][:2] == (bad, 3)
        assert found == [found[0]] * 3


def test_what_is_not_plain_is_refused_by_the_same_remedy(spark: SparkSession, tmp_path: Path) -> None:
    columns = {name: column for name, column in NESTED.items() if name != "v"}
    pq.write_table(log(**columns), path := str(tmp_path / "rows.parquet"))
    frame = spark.read.parquet(path).withColumn(
        "v", F.lit(None).cast("struct<type:tinyint,size:int,indices:array<int>,values:array<double>>")
    )
    for role, name, sentence in (
        ("label", "v", r'"v" is of type vector: a number is needed, as v\[0\]'),
        ("score", "m", r"a number is needed, as m.prob \(it has m.prob, m.raw, m.name\)"),
        ("score", "m.prop", r'did you mean "m.prob"\? \(m has m.prob, m.raw, m.name\)'),
        ("score", "s", r'the score column "s" is of type array<double>: a number is needed, as s\[0\]'),
        ("group", "k", r"a plain value is needed, as k.id"),
    ):
        with pytest.raises(sr.InputError, match=sentence):
            sr.evaluate(frame, ["auc"], **{"group": "u", "score": "p", "label": "y", role: name})


def test_what_als_recommends_in_every_lane(spark: SparkSession, tmp_path: Path) -> None:
    """With null for whole arrays, ties and ratings in any order."""
    lists = [[{"item": i, "rating": r} for _, i, r in each] for each in ALS.values()]
    of = pa.list_(pa.struct([("item", pa.int32()), ("rating", pa.float32())]))
    rows = pa.table(
        {
            "u": [n // 2 for n in range(len(lists) + 1)],
            "rec": pa.array([*lists, None], of),
            "act": pa.array([[2]] * len(lists) + [[1]], pa.list_(pa.int32())),
        }
    )
    pq.write_table(rows, path := str(tmp_path / "rows.parquet"))
    frame = spark.read.parquet(path)
    roles = {"group": "u", "items": {"m": "rec", "n": "rec.item"}, "true_items": "act", "buckets": 2}
    expected = _values(sr.evaluate(rows, ["ap", "ndcg@3", "rr"], **roles))
    for given, lane in ((path, "local"), (path, "scan"), (frame, "frame"), (path, "frame")):
        session = None if lane == "local" else spark
        assert _values(sr.evaluate(given, ["ap", "ndcg@3", "rr"], spark=session, lane=lane, **roles)) == expected


def test_a_nan_rating_is_refused_in_every_lane(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(of_nan_ratings(pa.float32()), path := str(tmp_path / "rows.parquet"))
    for lane in ("scan", "frame"):
        with pytest.raises(sr.InputError, match="a rating of recommended items is NaN"):
            sr.evaluate(path, ["ap"], spark=spark, lane=lane, group="u", items="rec", true_items="act", buckets=2)


def test_a_truth_in_memory_beside_a_frame(spark: SparkSession) -> None:
    """Its columns inside of others, and none that has no role: Spark has no type for one of them."""
    lists = spark.createDataFrame([(1, 5, 0.5), (1, 6, 0.25)], ["u", "i", "s"])
    truth = pa.table({"row": [{"u": 1, "i": 6}], "odd": pa.array([pa.MonthDayNano([1, 0, 0])])})
    named = {"group": "row.u", "item": "row.i"}
    found = sr.evaluate(lists, ["rr"], group="u", item="i", score="s", truth=truth, truth_columns=named, buckets=1)
    assert _values(found) == [repr(1 / 2)]
