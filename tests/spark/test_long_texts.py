"""Long texts in the lanes of Spark, beside the local lane, which has its values by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr

LONG = "x" * 140_000
ROWS_OF_LOG = {
    "u": [LONG + each for each in "aaabbb"],
    "i": [LONG + each for each in "pqrpqr"],
    "c": [LONG + each for each in "mmmnnn"],
    "s": [3.0, 2, 1, 1, 2, 3],
    "y": [0, 1, 0, 0, 0, 1],
    "w": [1.0, 1, 1, 1, 1, 1e-24],
}


# Types of which Spark's own batches, or mapInArrow, bring the rows.
@pytest.mark.parametrize(("lane", "large"), [("scan", False), ("frame", False), ("frame", True)])
def test_long_texts_play_every_role(spark, tmp_path: Path, lane: str, large: bool) -> None:
    asked: dict[str, Any] = {"group": "u", "item": "i", "score": "s", "label": "y", "slices": ["c"], "ties": "item"}
    pq.write_table(pa.table(ROWS_OF_LOG), path := str(tmp_path / "rows.parquet"))
    asked |= {"group_table": str(tmp_path / lane), "spark": spark, "lane": lane}
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", str(large).lower())
    try:
        rows = spark.read.parquet(path) if lane == "frame" else path
        table = sr.evaluate(rows, ["rr", "novelty@1"], **asked).table
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    local = sr.evaluate(path, ["rr", "novelty@1"], **{**asked, "group_table": str(tmp_path / "local"), "lane": "local"})
    assert table.equals(local.table)
    values = {(row["slice"], row["metric"]): row["value"] for row in table.to_pylist()}
    assert values["all", "rr"] == (1 / 2 + 1) / 2
    groups = pq.read_table(tmp_path / lane).to_pylist()
    assert sorted((row["u"][-1], row["rr"]) for row in groups) == [("a", 0.5), ("b", 1.0)]
