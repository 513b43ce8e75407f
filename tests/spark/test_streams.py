"""The page of sessions evaluates each micro-batch of a stream."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).resolve().parents[2] / "docs/sessions.md"
ROWS = pa.schema({"request_id": pa.string(), "score": pa.float64(), "click": pa.int64()})


def test_each_batch_of_a_stream_has_metrics_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """There are no rows at first, and then the click is second of two in one request and first in another."""
    batches = [[], [("a", 0.9, 0), ("a", 0.5, 1), ("b", 0.4, 1)]]
    (tmp_path / "log").mkdir()
    for number, rows in enumerate(batches):
        file = tmp_path / f"log/{number}.parquet"
        pq.write_table(pa.Table.from_pylist([dict(zip(ROWS.names, row, strict=True)) for row in rows], ROWS), file)
        os.utime(file, (number, number))  # Spark takes the oldest file first
    impressions = spark.readStream.schema("request_id string, score double, click long").option("maxFilesPerTrigger", 1)
    names: dict[str, Any] = {"impressions": impressions.parquet(f"{tmp_path}/log"), "folder": str(tmp_path)}
    (block,) = (
        text
        for text in re.findall("```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        if "foreachBatch" in text
    )
    exec(compile(block, PAGE.name, "exec"), names)  # noqa: S102 - our own page
    try:
        names["query"].processAllAvailable()
    finally:
        names["query"].stop()
    found = spark.read.parquet(f"{tmp_path}/metrics").select("batch", "metric", "value").collect()
    expected = {(1, "rr"): (1 / 2 + 1) / 2, (1, "auc"): 0.0}
    assert {(row["batch"], row["metric"]): row["value"] for row in found} == expected
