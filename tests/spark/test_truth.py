"""Lists and truth in every lane: the same bits, whatever kind each of the two is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import sparkrank as sr
from sparkrank.base import checks
from sparkrank.engines.spark.sent_batches import SentBatches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

METRICS = ["ndcg@3", "ap", "rr", "p@2", "r@5", "gauc", "auc(exact)"]


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """2,000 listed rows and 700 of truth, items repeated on both sides, with nulls wherever they may stand."""
    folder = tmp_path_factory.mktemp("sides")
    rng = np.random.default_rng(23)

    def table(n: int, kind: pa.DataType) -> dict:
        return {
            "user_id": pa.array(rng.integers(0, 90, n)).cast(kind),
            "name": np.char.add("user-", rng.integers(0, 3, n).astype("U4")),
            "item_id": pa.array(rng.integers(0, 40, n)).cast(kind),
            "sku": np.char.add("s", rng.integers(0, 40, n).astype("U4")),
        }

    lists = pa.table(
        {
            **table(2_000, pa.int64()),
            "score": rng.integers(0, 30, 2_000).astype(np.float32) / 10,
            "other": pa.array(rng.normal(size=2_000), mask=rng.random(2_000) < 0.2),
            "rank": rng.integers(0, 60, 2_000).astype(np.int32),
        }
    )
    grades = pa.array(rng.choice([-1.0, 0.0, 0.1, 1.0, 3.0], 700), mask=rng.random(700) < 0.1)
    truth = pa.table({**table(700, pa.int32()), "grade": grades})
    for name, rows in {"lists": lists, "truth": truth}.items():
        (folder / name).mkdir()
        pq.write_table(rows[: len(rows) // 3], folder / name / "0.parquet")
        pq.write_table(rows[len(rows) // 3 :], folder / name / "1.parquet", row_group_size=100)
    return folder / "lists", folder / "truth"


def _bits(evaluation: sr.Evaluation) -> list[list[dict]]:
    def rows(table) -> list[dict]:
        found = table.to_pylist() if isinstance(table, pa.Table) else [row.asDict() for row in table.collect()]
        return sorted(({name: repr(value) for name, value in row.items()} for row in found), key=str)

    with evaluation:
        groups = [] if evaluation.groups is None else rows(evaluation.groups)
        return [rows(evaluation.metrics), groups, rows(evaluation.blocks), rows(evaluation.quality)]


TWO_MODELS = {"score": {"a": "score", "b": "other"}, "label": "grade"}


@pytest.mark.parametrize(
    "settings",
    [
        {"group": "user_id", "item": "item_id", **TWO_MODELS},
        {"group": "user_id", "item": "sku", **TWO_MODELS, "duplicates": "first", "population": "both"},
        {"group": "user_id", "item": "sku", **TWO_MODELS, "duplicates": "keep"},
        {"group": ["user_id", "name"], "item": "sku", **TWO_MODELS, "ties": "item", "group_table": False},
        {"group": "name", "item": "sku", "score": "score", "unjudged": "drop", "group_table": False},
        {"group": ["user_id", "name"], "item": "item_id", "rank": "rank", "positions": "given_from_0"},
        {"group": "user_id", "item": "item_id", "rank": "rank", "unretrieved": "skip", "label": "grade"},
    ],
    ids=lambda settings: ",".join(f"{name}={value}" for name, value in settings.items()),
)
def test_every_lane_gives_the_same_bits(spark: SparkSession, sides: tuple[Path, Path], settings: dict) -> None:
    lists, truth = sides
    frames = [spark.createDataFrame(pq.read_table(side).combine_chunks()) for side in sides]
    lanes = {
        "frame": sr.evaluate(frames[0].repartition(3), METRICS, truth=frames[1], buckets=4, **settings),
        "scan": sr.evaluate(str(lists), METRICS, truth=str(truth), spark=spark, buckets=5, **settings),
        "local": sr.evaluate(lists, METRICS, truth=truth, buckets=3, **settings),
    }
    found = {}
    for name, evaluation in lanes.items():
        assert evaluation.lane == name
        found[name] = _bits(evaluation)
    assert len(found["local"][0]) > 0
    assert found["scan"] == found["local"]
    assert found["frame"] == found["local"]


def test_lists_and_truth_of_different_kinds(spark: SparkSession, sides: tuple[Path, Path]) -> None:
    settings = {"group": "user_id", "item": "sku", "score": "score", "label": "grade"}
    lists, truth = sides
    table, frame = pq.read_table(truth), spark.read.parquet(str(truth))
    expected = _bits(sr.evaluate(lists, METRICS, truth=truth, **settings))
    for impressions, beside, session, lane in [
        (lists, table, None, "local"),
        (pq.read_table(lists), table, spark, "local"),
        (lists, frame, None, "frame"),
        (lists, table, spark, "frame"),
        (spark.read.parquet(str(lists)), table, None, "frame"),
        (spark.read.parquet(str(lists)), truth, None, "frame"),
    ]:
        evaluation = sr.evaluate(impressions, METRICS, truth=beside, spark=session, **settings)
        assert evaluation.lane == lane
        assert _bits(evaluation) == expected


@pytest.mark.parametrize("arrow", ["true", "false"], ids="arrow {}".format)
def test_a_data_frame_of_pandas_beside_one_of_spark_is_what_it_is_alone(spark: SparkSession, arrow: str) -> None:
    """Its NaN are nulls whatever the session says, and numbers without a sign numbers; other columns are not read."""
    lists = pd.DataFrame(
        {"user": np.array([1, 1, 1, 2], np.uint8), "item": [1, 2, 3, 1], "score": [0.9, np.nan, 0.3, 0.7]}
    )
    truth = pa.table({"user": [1, 2], "item": [2, 1], "label": [1, 1]})
    roles = {"group": "user", "item": "item", "score": "score", "label": "label"}
    beside = spark.createDataFrame(truth)
    setting = "spark.sql.execution.arrow.pyspark.enabled"
    before = spark.conf.get(setting)
    try:
        spark.conf.set(setting, arrow)
        found = sr.evaluate(lists.assign(other=1j), ["rr"], truth=beside, **roles)
        rows = sorted([row["user"], row["n_rows"], row["n_retrieved"], row["rr"]] for row in found.groups.collect())
    finally:
        spark.conf.set(setting, before)
    assert rows == [[1, 3, 2, 0.0], [2, 1, 1, 1.0]]  # what the first user did is in no list, that of the second on top
    alone = sr.evaluate(lists, ["rr"], truth=truth, **roles).groups.sort_by("user")
    assert alone.select(["user", "n_rows", "n_retrieved", "rr"]).to_pandas().to_numpy().tolist() == rows


def test_a_truth_of_another_kind_is_refused(spark: SparkSession, sides: tuple[Path, Path]) -> None:
    lists, truth = (spark.read.parquet(str(side)) for side in sides)
    settings = {"group": "user_id", "item": "item_id", "score": "score"}
    sentence = r'the item column is of type bigint in the lists \("item_id"\) and of type string in the truth \("sku"\)'
    with pytest.raises(sr.InputError, match=sentence):
        sr.evaluate(lists, ["ap"], truth=truth, truth_columns={"item": "sku"}, **settings)
    with pytest.raises(sr.InputError, match='the label column "stars" is not in the truth'):
        sr.evaluate(lists, ["ap"], truth=truth, label="stars", **settings)
    sliced = lists.withColumn("kind", F.lit(1)), truth.withColumn("kind", F.lit("a"))
    with pytest.raises(sr.InputError, match=r"the slice column is of type int in the lists .* string in the truth"):
        sr.evaluate(sliced[0], ["ap"], truth=sliced[1], label="grade", slices=["kind"], **settings)


def test_nan_is_no_item_in_any_lane(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table({"user": [1] * 4, "item": [float("nan")] * 3 + [7.0], "score": [4.0, 3.0, 2.0, 1.0]})
    pq.write_table(rows.append_column("label", pa.array([0, 1, 0, 1])), path := str(tmp_path / "log.parquet"))
    arrays = pa.table({"user": [1], "items": [[2.0, 1.0]], "actual": [[float("nan"), 1.0]]})
    pq.write_table(arrays, of_arrays := str(tmp_path / "arrays.parquet"))
    settings = {"group": "user", "item": "item", "score": "score", "label": "label", "duplicates": "first"}
    for source in (path, spark.read.parquet(path)):
        with pytest.raises(sr.InputError, match=r"\(3 null item\)"):
            sr.evaluate(source, ["rr"], spark=spark, **settings)
    for source in (of_arrays, spark.read.parquet(of_arrays)):
        with sr.evaluate(source, ["r"], group="user", items="items", true_items="actual", spark=spark) as found:
            assert found.metrics.collect()[0]["value"] == 1.0


def test_rows_of_the_truth_without_a_key_spread(spark: SparkSession) -> None:
    """They are rejected, but on the way they must not meet in one bucket."""
    from sparkrank.engines.spark import frame as frame_lane
    from sparkrank.inputs.roles import Roles, TruthColumns
    from sparkrank.metrics import Plan

    roles = Roles.of("user", None, "score", "item", truth=TruthColumns())
    plan = Plan.of(["p@1"], ["score"], ["user"], joins=True)
    truth = spark.range(400).selectExpr("cast(null as string) user", "id item")
    rows, plan = frame_lane._sent(frame_lane.bucket_rows(truth, roles.truth, plan), plan)
    schema = frame_lane.arrow_schema(rows)
    pieces = frame_lane.rows_of(rows, SentBatches(schema, schema), 4)
    assert pieces.select("bucket").distinct().count() == 4


@pytest.mark.parametrize("settings", [{}, {"label": "labels"}, {"relevance": "reciprocal_rank", "positions": "given"}])
@pytest.mark.parametrize("kind", [pa.int32(), pa.string(), pa.float32()], ids=str)
def test_arrays_in_every_lane(spark: SparkSession, tmp_path: Path, settings: dict, kind: pa.DataType) -> None:
    rng = np.random.default_rng(31)

    def arrays() -> pa.Array:
        lists = [[f"{item}" for item in rng.integers(0, 12, rng.integers(0, 9))] for _ in range(300)]
        lists = [None if rng.random() < 0.05 else each for each in lists]
        return pa.array(lists, pa.list_(pa.string())).cast(pa.list_(kind))

    truth = arrays()
    rows = pa.table(
        {
            "user": [None if n == 7 else f"u{n % 200}" for n in range(300)],  # a hundred have two lists
            "first": arrays(),
            "second": arrays(),
            "actual": truth,
            "born": pa.array(rng.integers(0, 3, 300).astype(np.int32)).cast(pa.date32()),
            "labels": pa.array([[n % 5 / 2 for n in range(rng.integers(0, 9))] for _ in truth]),  # too few or too many
        }
    )
    pq.write_table(rows, tmp_path / "arrays.parquet", row_group_size=70)
    models = {
        "group": "user",
        "items": {"a": "first", "b": "second"},
        "true_items": "actual",
        "slices": ["born"],
        "max_bad_fraction": 0.5,
        **settings,
    }
    found = [
        sr.evaluate(str(tmp_path), METRICS, buckets=3, **models),
        sr.evaluate(str(tmp_path), METRICS, spark=spark, buckets=4, **models),
        sr.evaluate(spark.createDataFrame(rows).repartition(3), METRICS, buckets=5, **models),
        sr.evaluate(rows.take(rng.permutation(300)), METRICS, buckets=1, **models),
    ]
    assert [evaluation.lane for evaluation in found] == ["local", "scan", "frame", "local"]
    arrays_of = rows.select(["user", "first", "second", "actual"]).to_pylist()
    nothing = sum(not (row["first"] or row["second"] or row["actual"]) for row in arrays_of)  # but labels of nothing
    lists = 299 - (nothing if "label" in settings else 0)
    quality = {row["check"]: row["count"] for row in found[0].quality.to_pylist()}
    assert (quality[checks.GROUPS], quality[checks.SEVERAL_LISTS]) == (lists, lists - 200)
    local, *others = map(_bits, found)
    for other in others:
        assert other == local


@pytest.mark.parametrize("empty", ["labels", "items", "actual"])
def test_arrays_without_a_type_hold_nothing(spark: SparkSession, empty: str) -> None:
    """``array()`` is an array of void to Spark: no label for any true item, no item listed, none that is true.

    Where there is no item at all on a side, that is refused.
    """
    columns = {"user": "'u'", "items": "array('a', 'b')", "actual": "array('b', 'c')", "labels": "array(2, 1)"}
    frame = spark.sql("select " + ", ".join(f"{'array()' if n == empty else of} {n}" for n, of in columns.items()))
    asked = {"group": "user", "items": "items", "true_items": "actual", "label": "labels", "undefined": "zero"}
    asked["max_bad_fraction"] = 1.0  # labels of no true item
    with sr.evaluate(frame.withColumn(empty, F.expr(columns[empty])), ["r"], spark=spark, **asked) as found:
        assert [row["value"] for row in found.metrics.collect()] == [1 / 2]
    held = pa.table({"user": ["u"], **{n: [["a", "b"]] for n in ("items", "actual")}, "labels": [[2, 1]]})
    place = held.column_names.index(empty)
    void = held.set_column(place, empty, pa.array([[]], pa.list_(pa.null())))
    for rows in (frame, void):
        if empty == "labels":
            assert sr.evaluate(rows, ["r"], **asked).table["value"].to_pylist() == [0.0]
            continue
        with pytest.raises(
            sr.InputError,
            match="^the lists have no rows$" if empty == "items" else "^the truth has no|^no row of the truth",
        ):
            sr.evaluate(rows, ["r"], **asked)


def test_arrays_of_another_kind_are_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("u", [1], ["a"], 3)], "user string, items array<int>, actual array<string>, n int")
    with pytest.raises(sr.InputError, match=r"of type array<int> in the lists .* of type array<string> in the truth"):
        sr.evaluate(frame, ["ap"], group="user", items="items", true_items="actual")
    with pytest.raises(sr.InputError, match='"n" is of type int: an array of plain values is needed'):
        sr.evaluate(frame, ["ap"], group="user", items="items", true_items="n")


@pytest.mark.parametrize(
    ("lists", "truth", "told"),
    [
        ("u < 0", "u < 9", "the lists have no rows"),
        ("u < 9", "u < 0", "the truth has no rows"),
        (
            "u < 3",
            "u >= 3",
            r"lists and truth have no group in common: each of the 6 groups \(u\) is on one side alone",
        ),
    ],
)
def test_nothing_on_a_side_is_refused(spark: SparkSession, tmp_path: Path, lists: str, truth: str, told: str) -> None:
    rows = spark.range(6).selectExpr("id u", "id i", "cast(id as double) s")
    sides = [rows.where(lists), rows.where(truth).select("u", "i")]
    asked = {"group": "u", "item": "i", "score": "s", "spark": spark}
    with pytest.raises(sr.InputError, match=f"^{told}$"):
        sr.evaluate(sides[0], ["r"], truth=sides[1], **asked)
    for index, side in enumerate(sides):
        pq.write_table(side.toArrow(), tmp_path / f"{index}.parquet")
    with pytest.raises(sr.InputError, match=f"^{told}$"):
        sr.evaluate(str(tmp_path / "0.parquet"), ["r"], truth=str(tmp_path / "1.parquet"), **asked)


@pytest.mark.parametrize("group_table", [True, False], ids=["groups", "no groups"])
def test_every_lane_shows_the_same_rows_that_do_not_meet(
    spark: SparkSession, tmp_path: Path, group_table: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where the frame lane sends hashes of keys: of what nobody wrote nothing is shown."""
    rows = spark.range(200).selectExpr("concat('u', id % 40) u", "id % 3 n", "concat('I', id % 70) i", "id * 1.0D s")
    sides = [rows, rows.selectExpr("u", "n", "concat(lower(i), ' ') i")]
    for index, side in enumerate(sides):
        side.write.parquet(str(tmp_path / str(index)))
    asked = {"group": ["u", "n"], "item": "i", "score": "s", "group_table": group_table}
    paths = [str(tmp_path / str(index)) for index in range(2)]
    for buckets in (1, 5):
        sr.evaluate(sides[0], ["r"], truth=sides[1], buckets=buckets, **asked).release()
        sr.evaluate(paths[0], ["r"], truth=paths[1], buckets=buckets, spark=spark, **asked).release()
        sr.evaluate(paths[0], ["r"], truth=paths[1], buckets=buckets, lane="local", **asked)
    warned = [each.getMessage() for each in caplog.records if each.name == "sparkrank.doors.api"]
    assert len(warned) == 6
    assert len(set(warned)) == 1
    key = r'u "u\d+", n "\d", ' if group_table else ""
    told = rf'the lists have {key}i "I\d+", .*; the truth has {key}i "i\d+ "'
    assert re.search(told, warned[0])
