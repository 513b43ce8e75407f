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
from tests.wide_logs import LOGS, differences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_lists_and_truth_of_different_kinds(spark: SparkSession, tmp_path: Path) -> None:
    log = LOGS["truth"]()
    lists, truth = log.written(tmp_path)
    table, frame = pq.read_table(truth), spark.read.parquet(truth).coalesce(1)
    expected = log.bits(lists, truth, buckets=2)
    for impressions, beside, session, lane in [
        (pq.read_table(lists), table, spark, "local"),
        (lists, frame, None, "frame"),
        (lists, table, spark, "frame"),
        (spark.read.parquet(lists).coalesce(1), truth, None, "frame"),
    ]:
        tables = log.bits(impressions, beside, buckets=2, spark=session)
        assert tables["lane"] == [{"lane": lane}]
        assert differences(expected, tables) == []


def test_a_data_frame_of_pandas_beside_one_of_spark_is_what_it_is_alone(spark: SparkSession) -> None:
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
        spark.conf.set(setting, "false")
        found = sr.evaluate(lists.assign(other=1j), ["rr"], truth=beside, **roles)
        rows = sorted([row["user"], row["n_rows"], row["n_retrieved"], row["rr"]] for row in found.groups.collect())
    finally:
        spark.conf.set(setting, before)
    assert rows == [[1, 3, 2, 0.0], [2, 1, 1, 1.0]]  # what the first user did is in no list, that of the second on top
    alone = sr.evaluate(lists, ["rr"], truth=truth, **roles).groups.sort_by("user")
    assert alone.select(["user", "n_rows", "n_retrieved", "rr"]).to_pandas().to_numpy().tolist() == rows


def test_a_truth_of_another_kind_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    lists, truth = (spark.read.parquet(str(side)) for side in LOGS["truth"]().written(tmp_path))
    of_kinds = lists.withColumn("kind", F.lit(1)), truth.withColumn("kind", F.lit("a"))
    arrays = spark.createDataFrame([("u", [1], ["a"], 3)], "user string, items array<int>, actual array<string>, n int")
    of_arrays = {"group": "user", "items": "items"}
    for rows, given, sentence in (
        (
            lists,
            {"truth": truth, "truth_columns": {"item": "sku"}},
            r'the item column is of type bigint in the lists \("item"\) and of type string in the truth \("sku"\)',
        ),
        (lists, {"truth": truth, "label": "stars"}, 'the label column "stars" is not in the truth'),
        (
            of_kinds[0],
            {"truth": of_kinds[1], "label": "grade", "slices": ["kind"]},
            r"the slice column is of type int in the lists .* string in the truth",
        ),
        (arrays, {**of_arrays, "true_items": "actual"}, r"array<int> in the lists .* array<string> in the truth"),
        (arrays, {**of_arrays, "true_items": "n"}, '"n" is of type int: an array of plain values is needed'),
    ):
        roles = {} if rows is arrays else {"group": "user", "item": "item", "score": "score"}
        with pytest.raises(sr.InputError, match=sentence):
            sr.evaluate(rows, ["ap"], **roles, **given)


def test_every_lane_shows_the_same_rows_that_do_not_meet(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where the frame lane sends hashes of keys: of what nobody wrote nothing is shown."""
    rows = spark.range(200).selectExpr("concat('u', id % 40) u", "id % 3 n", "concat('I', id % 70) i", "id * 1.0D s")
    sides = [rows, rows.selectExpr("u", "n", "concat(lower(i), ' ') i")]
    paths = [str(tmp_path / name) for name in ("lists", "truth")]
    for side, path in zip(sides, paths, strict=True):
        side.write.parquet(path)
    for group_table, key in ((True, r'u "u\d+", n "\d", '), (False, "")):
        caplog.clear()
        asked = {"group": ["u", "n"], "item": "i", "score": "s", "group_table": group_table}
        sr.evaluate(sides[0], ["r"], truth=sides[1], buckets=5, **asked).release()
        sr.evaluate(paths[0], ["r"], truth=paths[1], buckets=1, spark=spark, **asked).release()
        sr.evaluate(paths[0], ["r"], truth=paths[1], buckets=5, lane="local", **asked)
        warned = [record.getMessage() for record in caplog.records if record.name == "sparkrank.doors.api"]
        assert len(warned) == 3
        assert len(set(warned)) == 1
        assert re.search(rf'the lists have {key}i "I\d+", .*; the truth has {key}i "i\d+ "', warned[0])
