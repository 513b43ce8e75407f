"""Delta tables without Spark. The log of a table says which files are current. These are read as Parquet.

If the format adds something to a file (deleted rows, or columns under other names), the library deltalake reads it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs

from sparkrank.base.errors import FrameLaneNeededError, InputError, shorten
from sparkrank.inputs.roles import Roles
from sparkrank.sources.conditions import Condition, UntranslatableError, pushed_down
from sparkrank.sources.delta_log import PACKAGE, additions, delta_table, reads_delta, table_at
from sparkrank.sources.files import Listing, file_system, store_of
from sparkrank.sources.integrity import stamps_of
from sparkrank.sources.library_rows import LibraryRows
from sparkrank.sources.parquet import ParquetInput
from sparkrank.sources.protocol import Source
from sparkrank.sources.stored_files import StoredFiles
from sparkrank.sources.types import plain_schema

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from sparkrank.sources.side_rows import SideRows

_PATH, _ROWS, _SIZE, _PARTITION = "path", "num_records", "size_bytes", "partition."  # columns of the list of files


def open_delta(side: SideRows, roles: Roles) -> Source:  # noqa: ARG001
    """Open the files of the Delta table of ``side``, or its rows if the files alone do not determine them.

    Files that the condition of ``side`` rules out by their partition are not opened.
    """
    if not reads_delta():
        raise FrameLaneNeededError(f"{side.what}.format: delta needs deltalake (pip install 'sparkrank[delta]')")
    table = delta_table(side)
    files = pa.table(table.get_add_actions(flatten=True))
    schema = pa.schema(table.schema().to_arrow())
    if _adds_to_files(table) or pc.any(pc.match_substring(files[_PATH], "://")).as_py():  # elsewhere, as for a clone
        batches = functools.partial(_batches, str(side.path), table.version())
        return LibraryRows(PACKAGE, plain_schema(schema), pc.sum(files[_ROWS]).as_py() or 0, batches)
    return _parquet_of(side, table, files, schema)


def _adds_to_files(table: DeltaTable) -> bool:
    """Return whether some file has deleted rows, or the files have other names for columns."""
    features = set(table.protocol().reader_features or ())
    return _has_renames(table) or ("deletionVectors" in features and pa.table(table.deletion_vectors()).num_rows > 0)


def _has_renames(table: DeltaTable) -> bool:
    return bool(table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none")


def _parquet_of(side: SideRows, table: DeltaTable, files: pa.Table, schema: pa.Schema) -> Source:
    store, inside = file_system(str(side.path))
    _, by_folder = _schemas(table)
    named = files.select([_PATH, *(f"{_PARTITION}{name}" for name in by_folder.names)]).to_pylist()
    kept = _where_possible(side, named, (store, inside), schema, by_folder)
    rows = dict(zip(_places(inside, files[_PATH].to_pylist()), files[_ROWS].to_pylist(), strict=True))
    stamps = stamps_of(store.get_file_info([fragment.path for fragment in kept]), store)
    listing = Listing(tuple(stamps), tuple(stamps), stamps=stamps)
    stored = StoredFiles(str(side.path), side.what, store, store_of(str(side.path), inside), listing)
    if lost := [fragment.path for fragment in kept if fragment.path not in stamps]:
        raise InputError(f"{shorten(lost[0])} of {side.name} is gone: that version was vacuumed")
    opened = ParquetInput.of_fragments(kept, by_folder, stored)
    for fragment in opened.fragments:  # the log need not count rows
        if (said := rows[fragment.path]) not in (None, found := fragment.metadata.num_rows):
            raise InputError(f"{shorten(fragment.path)} has {found} rows, but {said} in the log of its table")
    plain_columns = plain_schema(schema)
    return replace(opened, schema=plain_columns, lacking={})  # the log says which columns there are


def _places(folder: str, paths: Iterable[str]) -> list[str]:
    """Return the places of the files at ``paths`` of the log in the ``folder`` of a table."""
    return [f"{folder}/{unquote(path)}" for path in paths]


def _partition(file: Mapping[str, Any], columns: pa.Schema) -> pc.Expression:
    holds = pc.scalar(True)
    for column in columns:
        value = file[f"{_PARTITION}{column.name}"]
        field = pc.field(column.name)
        holds &= field.is_null() if value is None else field == _typed(value, column.type)
    return holds


def _typed(value: Any, kind: pa.DataType) -> pa.Scalar:
    """Return the ``value`` of a partition, which is a text in the log. An instant without a zone is in UTC there."""
    if isinstance(value, str) and pa.types.is_timestamp(kind) and kind.tz is not None:
        instant = datetime.fromisoformat(value.replace("Z", "+00:00"))
        value = instant if instant.tzinfo is not None else instant.replace(tzinfo=timezone.utc)
    return pa.scalar(value).cast(kind)


def _where_possible(
    side: SideRows,
    files: Sequence[Mapping[str, Any]],
    folder: tuple[fs.FileSystem, str],
    schema: pa.Schema,
    by_folder: pa.Schema,
) -> list[ds.Fragment]:
    """Return those of the ``files`` in ``folder`` whose partition does not rule out the condition of ``side``."""
    (store, inside), parquet = folder, ds.ParquetFileFormat()
    fragments = [
        parquet.make_fragment(place, store, _partition(file, by_folder))
        for file, place in zip(files, _places(inside, (file[_PATH] for file in files)), strict=True)
    ]
    try:
        where = None if side.where is None else pushed_down(side.where, plain_schema(schema)).of_groups
    except UntranslatableError:  # Spark will read the rows
        return fragments
    return list(ds.FileSystemDataset(fragments, schema, parquet, store).get_fragments(where))


def kept_files(side: SideRows) -> tuple[int, int]:
    """Return the number of files of a table that the condition of ``side`` leaves, and the number of all files."""
    table = delta_table(side)
    files = pa.table(table.get_add_actions(flatten=True))
    if _has_renames(table):  # partitions have the names of the files
        return files.num_rows, files.num_rows
    schema, by_folder = _schemas(table)
    return len(_where_possible(side, files.to_pylist(), file_system(str(side.path)), schema, by_folder)), files.num_rows


def last_addition(side: SideRows) -> datetime | None:
    """Return the time of the newest commit that added a file whose partition the condition of ``side`` may leave."""
    table = delta_table(side)
    schema, by_folder = _schemas(table)
    by_folder = pa.schema([]) if _has_renames(table) else by_folder
    folder = file_system(str(side.path))
    for commit, added in additions(table, folder):
        files = [
            {_PATH: file[_PATH]} | {f"{_PARTITION}{name}": value for name, value in file["partitionValues"].items()}
            for file in added
        ]
        if _where_possible(side, files, folder, schema, by_folder):
            return datetime.fromtimestamp(commit / 1000, timezone.utc)
    return None


def _schemas(table: DeltaTable) -> tuple[pa.Schema, pa.Schema]:
    """Return the schema of ``table``, and that of its partitions."""
    schema = pa.schema(table.schema().to_arrow())
    return schema, pa.schema([schema.field(name) for name in table.metadata().partition_columns])


def _batches(path: str, version: int, names: Sequence[str], where: Condition | None) -> pa.RecordBatchReader:  # noqa: ARG001
    return pa.RecordBatchReader.from_stream(table_at(path, version).scan(columns=list(names)))
