"""Parquet files of a few rows, and the rows that are read of them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sparkrank.inputs.field_paths import Place
from sparkrank.sources.parquet import ParquetInput, read_split


def write(path: Path, row_group_size: int | None = None, **columns) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=row_group_size)


def at(*columns: str) -> dict[str, Place]:
    return {name: Place(name, ()) for name in columns}


def rows_of(source: ParquetInput, columns: list[str], where=None, **settings) -> list[tuple]:
    tables = [
        table
        for split in source.file_splits(**settings, where=where)
        for table in read_split(split, source.schema, at(*columns), where)
    ]
    return [tuple(row.values()) for table in tables for row in table.select(columns).to_pylist()]
