"""Iceberg tables, read without Spark. The metadata of a table lists its current files. These are read as Parquet.

If the metadata adds something to a file (deleted rows, or other names of columns), pyiceberg reads the file.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from sparkrank.base.errors import FrameLaneNeededError, InputError, SparkrankError, first_line, shorten, unreadable
from sparkrank.inputs.roles import Roles
from sparkrank.sources.conditions import Condition
from sparkrank.sources.files import Listing
from sparkrank.sources.iceberg_files import comparisons_of, partitions_of, remaining_files
from sparkrank.sources.iceberg_metadata import (
    PACKAGE,
    arrow_schema,
    iceberg_table,
    metadata_errors,
    reads_iceberg,
    schema_at,
    snapshot_of,
    table_at,
)
from sparkrank.sources.integrity import Stamp, stamps_of
from sparkrank.sources.library_rows import LibraryRows
from sparkrank.sources.missing_columns import READING_THREADS
from sparkrank.sources.parquet import ParquetInput
from sparkrank.sources.protocol import Source
from sparkrank.sources.stored_files import StoredFiles
from sparkrank.sources.types import plain

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table

    from sparkrank.sources.side_rows import SideRows


def open_iceberg(side: SideRows, roles: Roles) -> Source:  # noqa: ARG001
    """Open the files of the Iceberg table of an input (``side``), or its rows if the files do not determine them.

    Files are not opened if the condition of ``side`` rules out their partition or their bounds.
    """
    if not reads_iceberg():
        raise FrameLaneNeededError(f"{side.what}.format: iceberg needs pyiceberg (pip install 'sparkrank[iceberg]')")
    table = iceberg_table(side)
    snapshot = snapshot_of(side, table)
    schema = schema_at(table, snapshot)
    with metadata_errors(side):
        columns = arrow_schema(schema)
    tasks = [] if snapshot is None else remaining_files(side, table, snapshot, comparisons_of(side, table, snapshot))
    files = _plain_files(side, table, schema, tasks)
    if files is not None or snapshot is None:
        parquet = _parquet_of(side, columns, files or {})
        placed = zip((fragment.path for fragment in parquet.fragments), tasks, strict=True)
        return replace(parquet, in_table=partitions_of(table, schema, dict(placed)))
    rows = sum(task.file.record_count for task in tasks)
    at = replace(side, version=snapshot.snapshot_id, as_of=None)
    batches = functools.partial(_batches, at, table.metadata_location, dict(table.io.properties), columns)
    return LibraryRows(PACKAGE, columns, rows, batches)


def _plain_files(
    side: SideRows, table: Table, schema: Schema, tasks: Sequence[FileScanTask]
) -> dict[ds.ParquetFileFragment, Stamp] | None:
    """Return the files of ``tasks``, or None if any file alone does not determine its rows.

    This is so if a file has deleted rows, is not Parquet, or has other names or types for columns of ``schema``.
    """
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.manifest import FileFormat

    if not isinstance(table.io, PyArrowFileIO):
        return None
    if any(task.delete_files or task.file.file_format != FileFormat.PARQUET for task in tasks):
        return None
    places = [PyArrowFileIO.parse_location(task.file.file_path, table.io.properties) for task in tasks]
    stores = {place[:2] for place in places}
    if len(stores) > 1:
        return None
    files: dict[ds.ParquetFileFragment, Stamp] = {}
    for scheme, host in stores:
        store = fs.LocalFileSystem() if scheme == "file" else table.io.fs_by_scheme(scheme, host)
        parquet = ds.ParquetFileFormat()
        fragments = [parquet.make_fragment(path, store) for *_, path in places]
        with metadata_errors(side):
            stamps = stamps_of(store.get_file_info([fragment.path for fragment in fragments]), store)
        if lost := [fragment.path for fragment in fragments if fragment.path not in stamps]:
            raise InputError(f"{shorten(lost[0])} of {side.name} is gone: the snapshots that had it were expired")
        files = {fragment: stamps[fragment.path] for fragment in fragments}
        _read_footers(fragments, tasks)
    physical = [fragment.physical_schema for fragment in files]
    same = functools.lru_cache(None)(functools.partial(_has_columns_of, table, schema))
    return files if all(map(same, physical, (task.file.spec_id for task in tasks))) else None


def _read_footers(fragments: Sequence[ds.ParquetFileFragment], tasks: Sequence[FileScanTask]) -> None:
    """Read the footers of all files. A file with another number of rows than in the metadata was written anew."""

    def read(fragment: ds.ParquetFileFragment, task: FileScanTask) -> None:
        try:
            fragment.ensure_complete_metadata()
        except (pa.ArrowException, OSError) as error:
            raise unreadable(f"{shorten(fragment.path)} cannot be read as parquet", error) from error
        rows, said = fragment.metadata.num_rows, task.file.record_count
        if rows != said:
            raise InputError(f"{shorten(fragment.path)} has {rows} rows, but {said} in the metadata of its table")

    with ThreadPoolExecutor(READING_THREADS) as pool:
        list(pool.map(read, fragments, tasks))


def _has_columns_of(table: Table, schema: Schema, physical: pa.Schema, spec: int) -> bool:
    """Return whether a file has the columns of ``schema`` by their names and types, or lacks them and has no values.

    ``spec`` is the number of the partitioning: a file may lack the columns by whose values it is partitioned.
    """
    from pyiceberg.io.pyarrow import UnsupportedPyArrowTypeException, pyarrow_to_schema
    from pyiceberg.transforms import IdentityTransform

    version, mapping = table.metadata.format_version, table.metadata.name_mapping()
    try:
        stored = pyarrow_to_schema(physical, mapping, format_version=version)
    except (TypeError, ValueError, UnsupportedPyArrowTypeException):
        # INT96, in which Spark stores instants; of other types pyiceberg itself will say why it cannot read the file
        return False
    by_id, names = {column.field_id: column for column in stored.fields}, set(physical.names)
    of_partition = {
        part.source_id for part in table.specs()[spec].fields if isinstance(part.transform, IdentityTransform)
    }
    for column in schema.fields:
        own = by_id.get(column.field_id)
        if own is None:
            if column.name in names or column.field_id in of_partition or column.initial_default is not None:
                return False
        elif own.name != column.name or own.field_type != column.field_type:
            return False
    return True


def _parquet_of(side: SideRows, columns: pa.Schema, files: Mapping[ds.ParquetFileFragment, Stamp]) -> ParquetInput:
    stamps = {fragment.path: stamp for fragment, stamp in files.items()}
    listing = Listing(tuple(stamps), tuple(stamps), stamps=stamps)
    store = next((fragment.filesystem for fragment in files), None)
    stored = StoredFiles(side.name, side.what, store, None, listing)
    rows = sum(fragment.metadata.num_rows for fragment in files)
    return ParquetInput(columns, tuple(files), rows, {}, pa.schema([]), stored)


def _batches(
    side: SideRows,
    location: str,
    properties: dict[str, str],
    columns: pa.Schema,
    names: Sequence[str],
    where: Condition | None,
) -> Iterator[pa.RecordBatch]:
    """Yield the columns ``names`` file by file, because the library holds all rows of the files that it is given.

    The table is described by the metadata file at ``location``, which is opened by ``properties``.
    """
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import ArrowScan

    target = pa.schema(map(columns.field, names))
    with metadata_errors(side):
        table = table_at(location, properties)
    snapshot = snapshot_of(side, table)
    assert snapshot is not None  # noqa: S101 - the side names a version
    projected = schema_at(table, snapshot).select(*names)
    scan = ArrowScan(table.metadata, table.io, projected, AlwaysTrue())
    for task in remaining_files(side, table, snapshot, () if where is None else where.comparisons):
        try:
            for batch in scan.to_record_batches([task]):
                yield from plain(pa.Table.from_batches([batch])).select(list(names)).cast(target).to_batches()
        except SparkrankError:
            raise
        except FileNotFoundError as error:
            raise InputError(f"a file of {side.name} is gone: {shorten(first_line(error))}") from error
        except Exception as error:  # the library has errors of its own for what it cannot read
            raise unreadable(f"{shorten(task.file.file_path)} cannot be read", error) from error
