"""Iceberg tables in the lane scan: tasks of Spark read what the metadata names, without a package of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkrank.base.errors import UnappliedFeatureError
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyiceberg", reason="pyiceberg reads Iceberg tables: make test-places installs it")

from tests.sources.test_iceberg import (
    COLUMNS,
    FIRST,
    SECOND,
    catalog_in,
    committed,
    entry_of,
    made,
    rows_of,
    spec,
)

OF_RUN = ("run_id", "spec_hash")


def metrics_of(folder: Path, spark: SparkSession | None, **source: Any) -> list[dict[str, Any]]:
    """All metrics of a day, with their intervals."""
    evaluate_day(spec(folder, **source), FIRST, spark, Stages())
    rows = pq.read_table(f"{folder}/out/metrics/day={FIRST}", partitioning=None)
    return list(rows.drop_columns([name for name in OF_RUN if name in rows.column_names]).to_pylist())


def test_all_lanes_have_the_bits_of_a_folder_of_parquet(spark: SparkSession, tmp_path: Path) -> None:
    """By the files of two days, and after a column was renamed by pyiceberg's reader, also in a task."""
    users = [rows_of(FIRST, [0] * (place % 5) + [1, 0], f"u{place}") for place in range(50)]
    (tmp_path / "rows").mkdir()
    pq.write_table(pa.concat_tables(users), tmp_path / "rows/part-0.parquet")
    expected = metrics_of(tmp_path, None, path=f"{tmp_path}/rows", format="parquet")
    with catalog_in(tmp_path) as catalog:
        table = made(catalog, *(pa.concat_tables(users[start::2]) for start in (0, 1)), rows_of(SECOND, [1]))
        for group in ("user", "person"):
            for lane in ("scan", "local"):
                columns = {**COLUMNS, "group": group}
                assert metrics_of(tmp_path, spark, lane=lane, where="dt = '{date}'", columns=columns) == expected, lane
            if group == "user":
                with table.update_schema() as schema:
                    schema.rename_column("user", "person")


def test_a_feature_that_nobody_applies_is_named_where_spark_lacks_the_format(
    spark: SparkSession, tmp_path: Path
) -> None:
    from pyiceberg.manifest import DataFileContent

    with catalog_in(tmp_path) as catalog:
        table = made(catalog, rows_of(FIRST, [0, 1]))
        how = {"content": DataFileContent.EQUALITY_DELETES, "equality_ids": [1]}
        committed(table, [entry_of(table, f"{tmp_path}/deletes.parquet", 1, FIRST, **how)], deletes=True)
        with pytest.raises(UnappliedFeatureError, match="has equality deletes in 1 of 1 files"):
            metrics_of(tmp_path, spark, lane="auto")
