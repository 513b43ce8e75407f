"""Iceberg tables in the lane scan: tasks of Spark read what the metadata names, without a package of Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.base.errors import InputError, UnappliedFeatureError
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyiceberg", reason="pyiceberg reads Iceberg tables: the dev extra has it")

from tests.sources.test_iceberg import (
    BY_BUCKETS,
    COLUMNS,
    FIRST,
    NAME,
    SECOND,
    by_buckets,
    catalog_in,
    committed,
    entry_of,
    made,
    rows_of,
    spec,
    without_rows,
)

METRICS = ("rr", "coverage(ties=item)@2")
OF_RUN = ("run_id", "spec_hash")


def metrics_of(
    folder: Path, spark: SparkSession | None, metrics: tuple[str, ...] = ("rr",), **source: Any
) -> list[dict[str, Any]]:
    """All metrics of a day, with their intervals."""
    asked = spec(folder, **source).model_copy(update={"metrics": list(metrics)})
    evaluate_day(asked, FIRST, spark, Stages())
    rows = pq.read_table(f"{folder}/out/metrics/day={FIRST}", partitioning=None)
    return list(rows.drop_columns([name for name in OF_RUN if name in rows.column_names]).to_pylist())


@pytest.mark.long
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


@pytest.mark.parametrize("cases", [slice(2, 3), pytest.param(slice(None), marks=pytest.mark.long)], ids=["one", "all"])
def test_a_table_that_changes_is_the_same_by_tasks_and_in_one_process(
    spark: SparkSession, tmp_path: Path, cases: slice
) -> None:
    """Added columns, rows deleted by position, a version of before, and no rows. Without its click, b is undefined."""
    more = rows_of(FIRST, [0, 0, 0, 1], "b").append_column("price", pa.array([None, None, 2.0, 4.0]))
    with catalog_in(tmp_path) as catalog:
        empty = made(catalog, rows_of(FIRST, [])).metadata_location
        catalog.drop_table(NAME)
        table = made(catalog, rows_of(FIRST, [0, 1, 0]), rows_of(SECOND, [1]))
        first = table.current_snapshot().snapshot_id
        with table.update_schema() as columns:
            columns.union_by_name(more.schema)
        table.append(more)
        second = table.current_snapshot().snapshot_id
        without_rows(table, [0], f"{tmp_path}/deletes.parquet", "b")
        day = {"where": "dt = '{date}'"}
        asked: list[tuple[dict[str, Any], float]] = [
            ({"version": first, **day}, 1 / 2), ({"version": second, **day}, (1 / 2 + 1 / 4) / 2),
            (day, (1 / 2 + 1 / 3) / 2), ({"where": "price IS NULL AND dt = '{date}'"}, 1 / 2),
            ({"where": "price = 4.0"}, 1.0),
        ]  # fmt: skip
        for source, value in asked[cases]:
            by_tasks, here = (metrics_of(tmp_path, spark, lane=lane, **source) for lane in ("scan", "local"))
            assert by_tasks == here, source
            assert [row["value"] for row in here] == [pytest.approx(value)], source
        for lane in ("scan", "local"):
            with pytest.raises(InputError, match=r"^the input has no rows$"):
                metrics_of(tmp_path, spark, lane=lane, path=empty.removeprefix("file://"))


def test_tasks_evaluate_whole_buckets_of_users_with_the_bits_of_the_shuffle(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparkrank.sources.colocation.LEAST_PARTITION_ROWS", 1)
    monkeypatch.setattr("sparkrank.engines.spark.scan_lane.core_count", lambda spark: 1)
    with catalog_in(tmp_path) as catalog:
        by_buckets(catalog)
        shuffled, whole = (metrics_of(tmp_path, spark, lane="scan", grouped=word) for word in ("shuffle", "auto"))
    (run,) = pq.read_table(f"{tmp_path}/out/runs/day={FIRST}").to_pylist()
    assert run["lane_reason"].endswith(
        "; partitions by bucket[4](user) hold whole groups, so that no rows are shuffled"
    )
    assert whole == shuffled
    assert [row["value"] for row in whole] == [pytest.approx(BY_BUCKETS)]


@pytest.mark.long
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


@pytest.mark.long
def test_files_that_spark_wrote_before_the_table_was_one_of_iceberg_have_the_same_values(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As Spark's procedures ``migrate`` and ``add_files`` leave them: without field ids, by the names of columns."""
    from pyiceberg.schema import Schema
    from pyiceberg.table.name_mapping import create_mapping_from_schema
    from pyiceberg.types import DecimalType, DoubleType, IntegerType, NestedField, StringType, TimestamptzType

    rows = spark.sql(
        "SELECT concat('u', id % 5) AS user, cast(id % 7 AS double) AS score, cast(id % 3 = 0 AS int) AS label, "
        "cast(id % 11 AS decimal(20, 0)) AS item, timestamp_seconds(1767261600 + id) AS shown, "
        "if(id < 50, '2026-01-01', '2026-01-02') AS dt FROM range(100)"
    )
    rows.write.partitionBy("dt").parquet(f"{tmp_path}/written")
    kinds = {"user": StringType(), "score": DoubleType(), "label": IntegerType(), "item": DecimalType(20, 0)}
    kinds |= {"shown": TimestamptzType(), "dt": StringType()}
    schema = Schema(*(NestedField(place, name, kind) for place, (name, kind) in enumerate(kinds.items(), 1)))
    names = {"schema.name-mapping.default": create_mapping_from_schema(schema).model_dump_json()}
    with catalog_in(tmp_path) as catalog:
        table = made(catalog, schema=schema, properties=names)
        files = sorted((tmp_path / "written").rglob("*.parquet"))
        rows_in = [pq.read_metadata(file).num_rows for file in files]
        days = [file.parent.name.removeprefix("dt=") for file in files]
        committed(table, [entry_of(table, str(file), *its) for file, *its in zip(files, rows_in, days, strict=True)])
        columns = {**COLUMNS, "item": "item"}
        for where in ("dt = '{date}'", f"dt = '{SECOND}'"):
            own = rows.where(where.format(date=FIRST))
            of_frame = sr.evaluate(own, METRICS, **columns, spark=spark, lane="frame")
            expected = [row["value"] for row in of_frame.metrics.toArrow().to_pylist()]
            for lane in ("scan", "local"):
                found = metrics_of(tmp_path, spark, METRICS, lane=lane, where=where, columns=columns)
                assert [row["value"] for row in found] == expected, (lane, where)
