"""Roles that are left out or share a column, and columns without a role, in both lanes of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

import sparkrank as sr
from tests.inputs.test_columns_of_roles import OF_TWO_MODELS, log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_an_order_without_a_label_a_column_with_two_roles_and_columns_with_none(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = log().append_column("months", pa.array([5] * 900, pa.duration("us")))
    pq.write_table(rows, both := str(tmp_path / "rows.parquet"))
    pq.write_table(log().drop_columns(["label"]), unlabelled := str(tmp_path / "scores.parquet"))
    none = {"interval": F.make_interval(F.lit(1)), "map": F.create_map(F.lit("a"), F.lit(1)), "void": F.lit(None)}
    none |= {"variant": F.parse_json(F.lit("{}"))}
    roles = {"score": {"a": "score", "b": "label"}, "label": "label", "weight": "label", "item": "label"}
    for path, metrics, settings in (
        (unlabelled, OF_TWO_MODELS, {"score": {"a": "score", "b": "other"}}),
        (both, ["ap", "auc"], {**roles, "slices": ["label"], "max_bad_fraction": 0.2}),
    ):
        settings |= {"group": "user", "buckets": 2}
        expected = repr(sr.evaluate(path, metrics, **settings).table.to_pylist())
        for given in (path, spark.read.parquet(path).withColumns(none)):
            with sr.evaluate(given, metrics, spark=spark, **settings) as there:
                assert repr(there.table.to_pylist()) == expected
