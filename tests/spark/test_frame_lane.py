"""What the frame lane promises whatever the input: same bits from any layout, keys kept apart, nothing lost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from chispa import assert_df_equality
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import functions as F

import sparkrank as sr
from sparkrank.engines.spark import frame as frame_lane
from sparkrank.engines.spark.batch_converter import FrameSide
from sparkrank.inputs.roles import Roles
from sparkrank.metrics import plan_of
from sparkrank.sources import stream_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def log(spark: SparkSession) -> DataFrame:
    return spark.sql("select 1L user_id, 'at' country, 0.5D score, 1 label")


KEYS: dict[str, list] = {
    "boolean": ["true", "false", "true"],
    "tinyint": [-128, 127, 0],
    "smallint": [-(2**15), 1, 2],
    "int": [1, 2, -(2**31)],
    "bigint": [2**63 - 1, 1, 2],
    "float": ["1.5", "0.0", "2.5"],
    "double": ["1e-300", "-0.5", "inf"],
    "decimal(38,3)": ["1.500", "1000000000000000000000000000000.000", "-1.125"],
    "string": ["", "ü", "a\x00b"],
    "binary": [b"\x00", b"\xff", b""],
    "date": ["0001-01-01", "9999-12-31", "1969-12-31"],
    "timestamp": ["2026-01-01 00:00:00", "1969-12-31 23:59:59.000001", "1960-01-01 00:00:00"],
    "timestamp_ntz": ["2026-11-19 01:02:03.000004", "2026-01-01 00:00:00", "1960-01-01 00:00:00"],
}


def test_keys_of_any_plain_type_come_back_as_they_were(spark: SparkSession) -> None:
    names = [f"key_of_{place}" for place in range(len(KEYS))]
    place = F.col("id").cast("int") + 1
    columns = {
        name: F.element_at(F.array(*(F.lit(value).cast(kind) for value in values)), place)
        for name, (kind, values) in zip(names, KEYS.items(), strict=True)
    }
    keyed = spark.range(3).selectExpr("id", "0.5D score", "id % 2 label").withColumns(columns)
    with sr.evaluate(keyed, ["p@1"], group=names, score="score", label="label", buckets=2) as evaluation:
        assert_df_equality(
            evaluation.groups.select(names), keyed.select(names), ignore_row_order=True, ignore_nullable=True
        )


@pytest.mark.parametrize(("aware", "group_table"), [("true", True), ("false", False)])
def test_texts_are_equal_where_their_bytes_are(another_session: SparkSession, aware: str, group_table: bool) -> None:
    """Whatever their column's collation says, and whether Spark's hashes heed it, as they did at first."""
    session = another_session
    session.conf.set("spark.sql.legacy.collationAwareHashFunctions", aware)
    rows = session.createDataFrame([("a", 0.9, 1), ("A", 0.8, 0), ("a", 0.7, 0)], "u string, score double, label int")
    rows = rows.withColumn("low", F.expr("collate(u, 'UTF8_LCASE')"))
    roles = {"score": "score", "label": "label", "slices": ["low"], "group_table": group_table}
    with sr.evaluate(rows, ["p@1"], group="low", **roles) as found:
        # "a" has the relevant row first, "A" has none
        values = [("all", 1 / 2, 2), ("A", 0, 1), ("a", 1, 1)]
        assert found.to_pandas()[["slice_value", "value", "n_groups"]].to_numpy().tolist() == [list(v) for v in values]
    lists, truth = rows.drop("label"), rows.select("u", F.col("low").alias("item")).where("u = 'a'").distinct()
    roles = {"item": "u", "score": "score", "truth": truth, "truth_columns": {"group": "u", "item": "item"}}
    with sr.evaluate(lists, ["p@1"], group="low", group_table=group_table, **roles) as found:
        assert found.to_pandas().loc[0, ["value", "n_groups"]].tolist() == [1 / 2, 2]


def test_rows_without_a_key_are_counted_and_do_not_meet_in_one_bucket(spark: SparkSession) -> None:
    frame = spark.range(400).selectExpr("cast(null as string) user", "id / 400 score", "id % 2 label")
    roles, plan = Roles.of("user", "label", "score"), plan_of(["p@1"], ["score"], ["user"])
    side = FrameSide(frame, roles, "input")
    pieces = frame_lane.rows_of(*side.sent(plan, frame_lane.framed_schema([side], plan)), 4)
    assert pieces.select("bucket").distinct().count() == 4
    with pytest.raises(sr.InputError, match=r"100.0000% of the rows cannot be evaluated \(400 null or NaN group key\)"):
        sr.evaluate(frame, ["p@1"], group="user", score="score", label="label")


def test_what_no_role_names_inside_of_a_column_is_not_sent(spark: SparkSession) -> None:
    hit = "named_struct('id', 7, 'snippet', 'a long text')"
    frame = spark.sql(f"select 'u' u, named_struct('p', 0.5D, 'snippet', '') m, map('k', 1) y, array({hit}, null) hits")
    rows, lists = Roles.of("u", "y['k']", "m.p"), Roles.of_arrays("u", "hits.id", "hits.id")
    for roles, kinds in ((rows, ["string", "int", "double"]), (lists, ["string", "array<int>", "bigint"])):
        plan = plan_of(["rr"], list(roles.scores), ["u"], joins=roles is lists, arrays=roles is lists)
        side = FrameSide(frame, roles, "input")
        sent, _ = side.sent(plan, frame_lane.framed_schema([side], plan))
        assert [kind for _, kind in sent.dtypes] == kinds  # and the number of each list
        assert "a long text" not in str(sent.collect())


def test_a_column_that_cannot_play_its_role_is_refused(log: DataFrame) -> None:
    frame = log.withColumns({"tags": F.array("country"), "months": F.make_ym_interval(F.lit(1))})
    frame = frame.withColumns({"both": F.make_interval(F.lit(1)), "vector": F.lit(None).cast(VectorUDT())})
    frame = frame.withColumn("variant", F.parse_json(F.lit("{}")))
    for roles, sentence in (
        ({"label": "labell"}, 'the label column "labell" is not in the input, did you mean "label"'),
        ({"label": "country"}, 'the label column "country" is of type string: a number is needed'),
        ({"score": "country"}, "is of type string: a number is needed"),
        ({"group": "tags"}, "is of type array<string>: a plain value is needed"),
        ({"group": "months"}, "is of type interval year to month: a plain value is needed"),
        ({"item": "both", "ties": "item"}, "is of type interval: a plain value is needed"),
        ({"group": "vector"}, "is of type vector: a plain value is needed"),
        ({"group": "variant"}, "is of type variant: a plain value is needed"),
    ):
        with pytest.raises(sr.InputError, match=sentence):
            sr.evaluate(frame, ["p@1"], **{"group": "user_id", "score": "score", "label": "label", **roles})


def test_a_truth_that_is_a_stream(log: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of more rows than stay in memory; the only list has one item of two thousand."""
    monkeypatch.setattr(stream_file, "MOST_BYTES", 1_000)
    truth = pa.table({"user_id": [1] * 2_000, "item": [f"{n}" for n in range(2_000)]})
    stream = pa.RecordBatchReader.from_batches(truth.schema, truth.to_batches(100))
    lists = log.withColumn("item", F.lit("1999"))
    ev = sr.evaluate(lists, ["r@1"], group="user_id", item="item", score="score", truth=stream, lane="frame")
    assert ev["r@1"] == 1 / 2_000


@pytest.mark.parametrize(("slices", "reason"), [(["row"], "1499 values in one bucket alone"), ([], "1 NaN score")])
def test_an_evaluation_that_fails_keeps_nothing_in_the_cache(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, slices: list[str], reason: str
) -> None:
    rows = [(row % 5, 0.25 if row else math.nan, row % 2, row) for row in range(1_500)]
    frame = spark.createDataFrame(rows, "user long, score double, label long, row long")
    kept = []
    persist, unpersist = type(frame).persist, type(frame).unpersist
    monkeypatch.setattr(type(frame), "persist", lambda each: (kept.append(id(each)), persist(each))[1])
    monkeypatch.setattr(type(frame), "unpersist", lambda each: (kept.remove(id(each)), unpersist(each))[1])
    with pytest.raises(sr.InputError, match=reason):
        sr.evaluate(frame, ["ap", "auc(exact)"], group="user", score="score", label="label", slices=slices)
    assert kept == []
