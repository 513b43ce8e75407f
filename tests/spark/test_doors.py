"""What :mod:`tests.doors.test_doors` says, where there is a Spark session: lanes, and what is left to Spark."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.support.doors import BAD, GOOD, Asked, by_call, by_job, column

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOINED, LANES = ("rows", "lists and truth", "arrays"), ("scan", "frame")
KINDS = ("a truth of another kind", "too many bad rows", "no such column", "over a limit", "what Spark alone reads")
ASKED = [
    *((replace(each, engine={"lane": lane}), lane)
      for place, each in enumerate(each for each in GOOD if each.name in JOINED) for lane in LANES[place % 2 :][:1]),
    (Asked("unsigned labels are left to Spark", column("label", pa.array([0, 1, 0, 1, 0, 1], pa.uint8()))), "frame"),
    (Asked("auto"), "scan"),
    *((each, None) for each in BAD if each.name in KINDS),
    (Asked("Spark alone reads it, and scan is asked for", column("label", pa.array([0, 1, 0, 1, 0, 1], pa.uint8())),
           engine={"lane": "scan"}), None),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "lane"), ASKED, ids=[f"{each.name}-{lane}" for each, lane in ASKED])
def test_both_doors_take_one_lane(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, asked: Asked, lane: str | None
) -> None:
    with caplog.at_level(logging.WARNING, "sparkrank"):
        called = by_call(asked, tmp_path, spark)
    ran = by_job(asked, tmp_path, spark)
    assert (called.error is None) == (lane is not None)
    assert called.error == ran.error
    if lane is not None:
        assert (called.lane, ran.lane) == (lane, lane)
        assert called.tables == ran.tables
        assert tuple(caplog.messages) == ran.warnings
