"""The columns of the matrix that Spark Connect has: the bits of the local lane, of wide logs of each shape."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkrank.engines.spark import gather as gathering
from tests.wide_logs import LOGS, differences


@pytest.mark.parametrize(
    ("name", "most"),
    [*((name, None) for name in ("arrays", "popularity")), ("exact", 0)],
)
def test_both_lanes_give_the_bits_of_the_local_one(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: int | None
) -> None:
    """More than ``most`` rows of exact bins are merged where they lie; ``test_lanes.py`` has those of the driver."""
    if most is not None:
        monkeypatch.setattr(gathering, "MAX_DRIVER_ROWS", most)
    log = LOGS[name]()
    path, truth = log.written(tmp_path)
    expected = log.bits(path, truth, buckets=1)
    rows, *beside = log.frames(spark, path, truth)
    cells = {
        "scan": log.bits(path, truth, buckets=3, spark=spark),
        "frame": log.bits(rows, *beside, buckets=3),
    }
    for lane, tables in cells.items():
        assert tables["lane"] == [{"lane": lane}]
        assert differences(expected, tables) == [], lane
