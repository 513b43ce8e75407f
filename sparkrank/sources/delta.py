"""Delta tables, read without Spark. The log of a table lists its current files. These are read as Parquet.

If the log adds something to a file (deleted rows, or other names of columns), the library deltalake reads the file.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs

from sparkrank.base.errors import FrameLaneNeededError, InputError, StoreError, shorten, unreadable
from sparkrank.inputs.roles import Roles
from sparkrank.sources.conditions import ColumnTest, Condition, UntranslatableError, pushed_down
from sparkrank.sources.delta_log import PACKAGE, additions, delta_table, reads_delta, reason_of_delta, table_at
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
_GONE = re.compile(r"Object at location (.+?) not found|File not found: (\S+)")  # by deltalake, of data and of vectors


def open_delta(side: SideRows, roles: Roles) -> Source:  # noqa: ARG001
    """Open the files of the Delta table of an input (``side``), or its rows if the files do not determine them.

    Files are not opened if the condition of ``side`` rules out their partition.
    """
    if not reads_delta():
        raise FrameLaneNeededError(f"{side.what}.format: delta needs deltalake (pip install 'sparkrank[delta]')")
    table = delta_table(side)
    schema, by_folder = _schemas(table)
    files = pa.table(table.get_add_actions(flatten=True))
    store, inside = file_system(str(side.path))
    kept = _where_possible(side, _partitions(files, by_folder), (store, inside), schema, by_folder)
    places = {fragment.path for fragment in kept}
    files = files.filter(pa.array([place in places for place in _places(inside, files[_PATH].to_pylist())], pa.bool_()))
    if _adds_to_files(table, files) or pc.any(pc.match_substring(files[_PATH], "://")).as_py():  # as for a clone
        batches = functools.partial(_batches, str(side.path), table.version(), side.name, frozenset(by_folder.names))
        return LibraryRows(PACKAGE, plain_schema(schema), pc.sum(files[_ROWS]).as_py() or 0, batches)
    return _parquet_of(side, files, kept, schema, by_folder)


def _adds_to_files(table: DeltaTable, files: pa.Table) -> bool:
    """Return whether some of the ``files`` have deleted rows, or other names for columns."""
    from deltalake.exceptions import DeltaError

    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        return True
    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return False
    try:
        deleted = pa.table(table.deletion_vectors())["filepath"].to_pylist()
    except DeltaError:  # the rows that were deleted of some file are gone; reading says if it is one of these
        return True
    return not {*map(_base_name, deleted)}.isdisjoint(map(_base_name, files[_PATH].to_pylist()))


def _base_name(path: str) -> str:
    return posixpath.basename(unquote(path))


def _parquet_of(
    side: SideRows, files: pa.Table, kept: Sequence[ds.Fragment], schema: pa.Schema, by_folder: pa.Schema
) -> Source:
    store, inside = file_system(str(side.path))
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


def _partitions(files: pa.Table, by_folder: pa.Schema) -> list[dict[str, Any]]:
    """Return the path of each of the ``files``, and the values of its partition."""
    columns = [_PATH, *(f"{_PARTITION}{name}" for name in by_folder.names)]
    return list(files.select(columns).to_pylist())


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
    """Return the ``value`` of a partition, which is a text in the log. An instant without a zone is in UTC."""
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
        where = None if side.where is None else pushed_down(side.where, plain_schema(schema)).row_group_filter
    except UntranslatableError:  # Spark will read the rows
        return fragments
    return list(ds.FileSystemDataset(fragments, schema, parquet, store).get_fragments(where))


def kept_files(side: SideRows) -> tuple[int, int]:
    """Return the number of files that the condition of an input does not rule out, and the number of all its files."""
    table = delta_table(side)
    files = pa.table(table.get_add_actions(flatten=True))
    schema, by_folder = _schemas(table)
    named, folder = _partitions(files, by_folder), file_system(str(side.path))
    return len(_where_possible(side, named, folder, schema, by_folder)), files.num_rows


def last_addition(side: SideRows) -> datetime | None:
    """Return the time of the newest commit with a new file in a partition not ruled out by an input's condition."""
    table = delta_table(side)
    schema, by_folder = _schemas(table)
    folder = file_system(str(side.path))
    names = {_stored_name(column): column.name for column in by_folder}
    for commit, added in additions(table, folder):
        files = [
            {_PATH: file[_PATH]}
            | {f"{_PARTITION}{names[name]}": value for name, value in file["partitionValues"].items()}
            for file in added
        ]
        if _where_possible(side, files, folder, schema, by_folder):
            return datetime.fromtimestamp(commit / 1000, timezone.utc)
    return None


def _schemas(table: DeltaTable) -> tuple[pa.Schema, pa.Schema]:
    schema = pa.schema(table.schema().to_arrow())
    return schema, pa.schema([schema.field(name) for name in table.metadata().partition_columns])


def _stored_name(column: pa.Field) -> str:
    """Return the name of a partition in commits, which is that of the files where these have other names."""
    name: bytes = (column.metadata or {}).get(b"delta.columnMapping.physicalName", column.name.encode())
    return name.decode()


def _batches(
    path: str, version: int, name: str, partitions: Collection[str], names: Sequence[str], where: Condition | None
) -> Iterator[pa.RecordBatch]:
    """Yield the columns ``names`` of the files whose partition does not rule out ``where``."""
    from deltalake.exceptions import DeltaError

    tests = [_sql(test) for test in (() if where is None else where.comparisons) if test.column in partitions]
    try:
        rows = table_at(path, version).scan(columns=list(names), predicate=" AND ".join(filter(None, tests)) or None)
        yield from pa.RecordBatchReader.from_stream(rows)
    except (DeltaError, pa.ArrowException, OSError) as error:
        if (gone := _GONE.search(str(error))) is not None:
            raise InputError(f"{shorten(gone[1] or gone[2])} of {name} is gone: that version was vacuumed") from error
        if "Generic " in str(error):  # errors of stores begin so
            raise StoreError(f"{name} cannot be read by deltalake: {reason_of_delta(error)}") from error
        raise unreadable(f"{name} cannot be read by deltalake", error) from error


def _sql(test: ColumnTest) -> str:
    """Return ``test`` in deltalake's SQL, or an empty text for floats, because deltalake sorts -0.0 below 0.0."""
    if pa.types.is_floating(test.kind):
        return ""
    column = '"{}"'.format(test.column.replace('"', '""'))
    values = [
        str(value) if isinstance(value, int) else "'{}'".format(str(value).replace("'", "''")) for value in test.values
    ]
    if test.sign == "IN":
        return f"{column} IN ({', '.join(values)})"
    return " ".join([column, test.sign.replace("==", "="), *values])
