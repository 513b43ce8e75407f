"""Delta tables in the lane scan: tasks of Spark read what the log names, without a package of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.sources.test_delta import COLUMNS, FIRST, OF_DAY, SECOND, rows_of, spec, without_rows
from tests.support.numbers import bits

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


def test_a_table_that_changes_is_the_same_by_tasks_and_in_one_process(spark: SparkSession, tmp_path: Path) -> None:
    """Added columns, deleted rows, a version of before, and no rows. Without its click, b is undefined."""
    table = tmp_path / "table"
    deltalake.write_deltalake(table, rows_of(FIRST, [0, 1, 0]), partition_by=["dt"])
    more = rows_of(FIRST, [0, 0, 0, 1]).set_column(0, "user", pa.array(["b"] * 4))
    more = more.append_column("price", pa.array([None, None, 2.0, 4.0]))
    deltalake.write_deltalake(table, more, mode="append", schema_mode="merge")
    deltalake.write_deltalake(table, rows_of(SECOND, [1]), mode="append", schema_mode="merge")
    without_rows(table, [0, 1], FIRST)  # of b
    deltalake.write_deltalake(tmp_path / "empty", rows_of(FIRST, [0]).slice(1))
    asked: list[tuple[dict[str, Any], float]] = [
        ({"version": 0}, 1 / 2), ({"version": 2, **OF_DAY}, (1 / 2 + 1 / 4) / 2), (OF_DAY, (1 / 2 + 1 / 2) / 2),
        ({"version": 2, "where": "price IS NULL AND dt = '{date}'"}, 1 / 2), ({"where": "price = 4.0"}, 1.0),
    ]  # fmt: skip
    for source, value in asked:
        found = {}
        for lane in ("scan", "local"):
            day = evaluate_day(spec(tmp_path, lane=lane, **source), FIRST, spark, Stages())
            assert day.lane == lane
            found[lane] = bits(pq.read_table(f"{tmp_path}/out/metrics/day={FIRST}", partitioning=None))
        assert found["scan"] == found["local"], source
        assert day.metrics["value"].to_pylist() == [pytest.approx(value)], source
    for lane in ("scan", "local"):
        with pytest.raises(InputError, match=r"^the input has no rows$"):
            evaluate_day(spec(tmp_path, lane=lane, path=f"{tmp_path}/empty"), FIRST, spark, Stages())
