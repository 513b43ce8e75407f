"""Tables of Delta as Spark writes them: its Parquet, its names of folders, its checkpoints, its names of columns.

Spark's own package of Delta is no package of Python, so the log is written here by the protocol of Delta, in the forms
of Spark's writer; the data files and the checkpoint are Spark's.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config import Spec
from sparkrank.jobs import evaluate_day
from sparkrank.run.stages import Stages
from tests.support.commands import local_spec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

deltalake = pytest.importorskip("deltalake")

ROLES: dict[str, Any] = {"group": "user", "score": "score", "label": "label", "item": "item"}
METRICS = ["ndcg@3", "auc", "coverage(ties=item)@2"]
# Spark stores instants as INT96, small decimals as whole numbers, and large ones as bytes.
ROWS = """
    SELECT concat('u', id % 5) AS user, cast(id % 7 AS decimal(9, 2)) AS score, cast(id % 3 = 0 AS tinyint) AS label,
        cast(id % 11 AS decimal(20, 0)) AS item, timestamp_seconds(1767261600 + id % 9) AS shown,
        date'2026-01-01' + cast(id div 50 AS int) AS dt, timestamp_seconds(1767225600 + id div 50 * 3600) AS hour,
        if(id % 2 = 0, 'a/b%', NULL) AS kind
    FROM range(100)
"""
PARTITIONS = ["dt", "hour", "kind"]
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7}
FEATURES = {"readerFeatures": ["columnMapping"], "writerFeatures": ["columnMapping", "appendOnly", "invariants"]}
COMMIT = {
    "timestamp": 1767225600000,
    "operation": "WRITE",
    "operationParameters": {"mode": "Append", "partitionBy": json.dumps(PARTITIONS)},
    "isolationLevel": "Serializable",
    "isBlindAppend": True,
    "engineInfo": "Apache-Spark/4.0.0 Delta-Lake/4.0.0",
}
# The columns of a checkpoint that such a table fills, as the protocol names them.
CHECKPOINT = (
    "add struct<path: string, partitionValues: map<string, string>, size: bigint, modificationTime: bigint, "
    "dataChange: boolean, stats: string>, remove struct<path: string, deletionTimestamp: bigint, dataChange: boolean>, "
    "metaData struct<id: string, format: struct<provider: string, options: map<string, string>>, schemaString: string, "
    "partitionColumns: array<string>, configuration: map<string, string>, createdTime: bigint>, protocol "
    "struct<minReaderVersion: int, minWriterVersion: int, readerFeatures: array<string>, writerFeatures: array<string>>"
)


def write_as_spark(rows: DataFrame, folder: Path, mapped: dict[str, str]) -> list[dict[str, Any]]:
    """Write ``rows`` with the names ``mapped`` of columns in files; return the actions of the first commit."""
    stored = rows.withColumnsRenamed(mapped)
    stored.write.partitionBy(*(mapped.get(name, name) for name in PARTITIONS)).parquet(str(folder))
    schema = json.loads(rows.schema.json())
    for number, field in enumerate(schema["fields"]):
        if mapped:
            name = mapped[field["name"]]
            field["metadata"] = {"delta.columnMapping.id": number + 1, "delta.columnMapping.physicalName": name}
    of_table = {
        "id": "11111111-2222-3333-4444-555555555555",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": PARTITIONS,
        "configuration": {"delta.columnMapping.mode": "name"} if mapped else {},
        "createdTime": 1767225600000,
    }
    added = [{"add": _added(file, folder)} for file in sorted(folder.rglob("*.parquet"))]
    return [
        {"protocol": PROTOCOL | (FEATURES if mapped else {"minReaderVersion": 1, "minWriterVersion": 2})},
        {"metaData": of_table},
        *added,
    ]


def _added(file: Path, folder: Path) -> dict[str, Any]:
    path = file.relative_to(folder)
    pairs = (part.split("=", 1) for part in path.parts[:-1])
    values = {name: None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value) for name, value in pairs}
    return {
        "path": quote(path.as_posix()),  # the signs of a folder's name are written as signs of a URL once more
        "partitionValues": values,
        "size": file.stat().st_size,
        "modificationTime": 1767225600000,
        "dataChange": True,
        "stats": json.dumps({"numRecords": pq.ParquetFile(file).metadata.num_rows}),
    }


def spec_of(folder: Path, lane: str, where: str) -> Spec:
    source = {"path": f"{folder}/table", "format": "delta", "columns": ROLES} | ({"where": where} if where else {})
    return local_spec(folder, source, metrics=METRICS, engine={"lane": lane})


@pytest.mark.parametrize("form", ["commit", "checkpoint", "names of columns"])
def test_a_table_of_sparks_writer_has_the_same_values_in_every_lane(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    rows = spark.sql(ROWS)
    table, log = tmp_path / "table", tmp_path / "table" / "_delta_log"
    mapped = {name: f"col-{number}" for number, name in enumerate(rows.columns)} if form == "names of columns" else {}
    actions = write_as_spark(rows, table, mapped)
    log.mkdir()
    if form == "checkpoint":  # whose commits a cleaning of the log has removed
        lines = spark.sparkContext.parallelize(list(map(json.dumps, actions)), 1)
        spark.read.schema(CHECKPOINT).json(lines).write.parquet(str(tmp_path / "checkpoint"))
        (written,) = (tmp_path / "checkpoint").glob("*.parquet")
        shutil.copy(written, log / f"{0:020}.checkpoint.parquet")
        (log / "_last_checkpoint").write_text(json.dumps({"version": 0, "size": len(actions)}))
    else:
        (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, [{"commitInfo": COMMIT}, *actions])) + "\n")
    for where in ("", "dt = '2026-01-02' AND kind IS NULL"):
        own = rows.where(where) if where else rows
        of_frame = sr.evaluate(own, METRICS, **ROLES, spark=spark, lane="frame", uncertainty=False)
        expected = of_frame.metrics.toPandas()["value"].tolist()
        for lane in ("scan", "local"):
            day = evaluate_day(spec_of(tmp_path, lane, where), "2026-01-01", spark, Stages())
            assert day.metrics["value"].to_pylist() == expected, (where, lane)
