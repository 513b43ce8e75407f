"""Delta tables in the lane scan: tasks of Spark read what the log names, without a package of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sparkrank as sr
from tests.sources.test_delta import COLUMNS, FIRST, SECOND, rows_of, without_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

deltalake = pytest.importorskip("deltalake")


def test_files_and_deleted_rows_are_read_by_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """By the files of two days, and then by deltalake's reader in a task."""
    deltalake.write_deltalake(tmp_path / "files", rows_of(FIRST, [0, 0, 1]), partition_by=["dt"])
    deltalake.write_deltalake(tmp_path / "files", rows_of(SECOND, [0, 0, 0]), mode="append")
    deltalake.write_deltalake(tmp_path / "rows", rows_of(FIRST, [0, 0, 1]))
    without_rows(tmp_path / "rows", [0])
    for name, relevant, rows in (("files", 1, 6), ("rows", 1, 2)):
        table = deltalake.DeltaTable(tmp_path / name)
        found = {lane: sr.evaluate(table, ["p"], **COLUMNS, spark=spark, lane=lane) for lane in ("scan", "local")}
        values = [one.to_pandas()["value"].item() for one in found.values()]
        assert values == [values[0]] * 2
        assert values[0] == relevant / rows
