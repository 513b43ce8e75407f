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


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "rows.parquet"
    pq.write_table(pa.table(ROWS_OF_LOG), path)
    return path


# Types of which Spark's own batches, or mapInArrow, bring the rows.
@pytest.mark.parametrize(("lane", "large"), [("scan", False), ("frame", False), ("frame", True)])
def test_long_texts_play_every_role(spark, log: Path, tmp_path: Path, lane: str, large: bool) -> None:
    asked: dict[str, Any] = {"group": "u", "item": "i", "score": "s", "label": "y", "slices": ["c"], "ties": "item"}
    rows = spark.read.parquet(str(log)) if lane == "frame" else str(log)
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", str(large).lower())
    try:
        found = sr.evaluate(rows, ["rr", "novelty@1"], spark=spark, lane=lane, group_table=str(tmp_path / "g"), **asked)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    local = sr.evaluate(pa.table(ROWS_OF_LOG), ["rr", "novelty@1"], **asked)
    assert found.table.equals(local.table)
    of_rr = [row for row in found.table.to_pylist() if row["metric"] == "rr"]
    assert [row["value"] for row in of_rr if row["slice"] == "all"] == [0.75]  # (1/2 + 1) / 2
    groups = pq.read_table(tmp_path / "g")
    assert sorted(zip((key[-1] for key in groups["u"].to_pylist()), groups["rr"].to_pylist(), strict=True)) == [
        ("a", 0.5),
        ("b", 1.0),
    ]
