"""The files of a snapshot of an Iceberg table. The library pyiceberg rules out files by a condition."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import UnappliedFeatureError
from sparkrank.sources.conditions import ColumnTest, UntranslatableError, pushed_down
from sparkrank.sources.iceberg_metadata import (
    arrow_schema,
    iceberg_table,
    metadata_errors,
    place_of,
    plan_scan,
    schema_at,
    snapshot_of,
    time_of,
)
from sparkrank.sources.parquet import TablePartitions
from sparkrank.sources.protocol import Partitioning

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import ManifestEntry
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table
    from pyiceberg.table.snapshots import Snapshot

    from sparkrank.sources.side_rows import SideRows

_KEEPS_ROWS = "replace"  # the operation of a snapshot that only rearranges files
_READ_BY_NOBODY = ("AVRO",)  # formats of files that neither Arrow nor pyiceberg reads


def kept_files(side: SideRows) -> tuple[int, int]:
    """Return the number of files that the condition of an input does not rule out, and the number of all its files."""
    from pyiceberg.manifest import ManifestContent

    table = iceberg_table(side)
    snapshot = snapshot_of(side, table)
    if snapshot is None:
        return 0, 0
    with metadata_errors(side):
        of_data = [one for one in snapshot.manifests(table.io) if one.content == ManifestContent.DATA]
        files = sum((one.added_files_count or 0) + (one.existing_files_count or 0) for one in of_data)
        return len(remaining_files(side, table, snapshot, comparisons_of(side, table, snapshot))), files


def last_addition(side: SideRows) -> datetime | None:
    """Return the time of the newest snapshot with a new file that the condition of an input does not rule out."""
    table = iceberg_table(side)
    snapshot = snapshot_of(side, table)
    with metadata_errors(side):
        while snapshot is not None:
            comparisons = comparisons_of(side, table, snapshot)
            if _adds_rows(table, snapshot, row_filter(comparisons, table.schema(), schema_at(table, snapshot))):
                return time_of(snapshot)
            before = snapshot.parent_snapshot_id
            snapshot = None if before is None else table.snapshot_by_id(before)
    return None


def comparisons_of(side: SideRows, table: Table, snapshot: Snapshot) -> tuple[ColumnTest, ...]:
    """Return the comparisons of an input's condition, or () if only Spark can evaluate the condition."""
    try:
        return (
            () if side.where is None else pushed_down(side.where, arrow_schema(schema_at(table, snapshot))).comparisons
        )
    except UntranslatableError:
        return ()


def remaining_files(
    side: SideRows, table: Table, snapshot: Snapshot, comparisons: Sequence[ColumnTest]
) -> list[FileScanTask]:
    """Return those files of ``snapshot``, ordered by path, that the ``comparisons`` do not rule out.

    Raise :class:`UnappliedFeatureError` if a file needs a feature that pyiceberg does not apply.
    """
    rows = row_filter(comparisons, table.schema(), schema_at(table, snapshot))
    with metadata_errors(side, functools.partial(_unreadable_file, table, snapshot)):
        try:
            scan = table.scan(row_filter=rows, snapshot_id=snapshot.snapshot_id)
            planned = plan_scan(table, f"{table.catalog.name} of {place_of(side)}", lambda: list(scan.plan_files()))
            tasks = sorted(planned, key=lambda task: task.file.file_path)
        except (ValueError, NotImplementedError):
            concerned, files = _with_equality_deletes(table, snapshot)
            if not concerned:
                raise
            raise _unapplied(side, snapshot, "equality deletes", concerned, files) from None
    for name in _READ_BY_NOBODY:
        if strange := sum(task.file.file_format.value == name for task in tasks):
            raise _unapplied(side, snapshot, f"the format {name.capitalize()}", strange, len(tasks))
    if encrypted := sum(task.file.key_metadata is not None for task in tasks):
        raise _unapplied(side, snapshot, "encryption", encrypted, len(tasks))
    return tasks


def partitions_of(table: Table, schema: Schema, files: Mapping[str, FileScanTask]) -> TablePartitions:
    """Return the partitions of ``files`` (by path) by columns of ``schema`` and by their buckets.

    A value is named by its transform and column, such as ``bucket[4](user)``, because writers name fields freely.
    """
    from pyiceberg.transforms import BucketTransform, IdentityTransform

    columns = {column.field_id: column.name for column in schema.fields}
    ways: dict[int, Partitioning] = {}  # by the number of the partitioning, which may have changed between files
    values: dict[str, dict[str, str]] = {}
    for path, task in files.items():
        parts = [
            (f"{part.transform}({column})", column, str(task.file.partition[place]))
            for place, part in enumerate(table.specs()[task.file.spec_id].fields)
            if isinstance(part.transform, (BucketTransform, IdentityTransform))
            and (column := columns.get(part.source_id)) is not None
        ]
        ways[task.file.spec_id] = {name: (column,) for name, column, _ in parts}
        values[path] = {name: value for name, _, value in parts}
    return TablePartitions(list(ways.values()), values)


def _unreadable_file(table: Table, snapshot: Snapshot) -> str:
    """Return the first file of the metadata of ``snapshot`` that cannot be read, or an empty text."""
    file = str(snapshot.manifest_list)
    try:
        for manifest in snapshot.manifests(table.io):
            file = str(manifest.manifest_path)
            manifest.fetch_manifest_entry(table.io)
    except Exception:  # noqa: BLE001 - whatever it is, it was raised before
        return file
    return ""


def _unapplied(side: SideRows, snapshot: Snapshot, feature: str, concerned: int, files: int) -> UnappliedFeatureError:
    return UnappliedFeatureError(
        f"{place_of(side)} at version {snapshot.snapshot_id} has {feature} in {concerned} of {files} files, which no "
        f"reader here applies: compact the table, or read it by Spark (format: iceberg, with its package)"
    )


def _with_equality_deletes(table: Table, snapshot: Snapshot) -> tuple[int, int]:
    """Return the number of files of ``snapshot`` with equality deletes, and the number of all files.

    By Iceberg's rule, such a delete concerns earlier files of its partition, and without partitions all earlier files.
    """
    from pyiceberg.manifest import DataFileContent

    files: list[ManifestEntry] = []
    deletes: defaultdict[object, int] = defaultdict(int)  # the newest delete by partition
    for manifest in snapshot.manifests(table.io):
        for entry in manifest.fetch_manifest_entry(table.io):
            if entry.data_file.content == DataFileContent.DATA:
                files.append(entry)
            elif entry.data_file.content == DataFileContent.EQUALITY_DELETES:
                place = _partition(entry) if table.specs()[entry.data_file.spec_id].fields else None
                deletes[place] = max(deletes[place], entry.sequence_number or 0)
    newest = [max(deletes[None], deletes[_partition(entry)]) for entry in files]
    concerned = sum(last > (entry.sequence_number or 0) for last, entry in zip(newest, files, strict=True))
    return concerned, len(files)


def _partition(entry: ManifestEntry) -> object:
    return entry.data_file.spec_id, repr(entry.data_file.partition)


def _adds_rows(table: Table, snapshot: Snapshot, rows: BooleanExpression) -> bool:
    from pyiceberg.manifest import ManifestContent, ManifestEntryStatus
    from pyiceberg.table import ManifestGroupPlanner

    if snapshot.summary is not None and snapshot.summary.operation.value == _KEEPS_ROWS:
        return False
    own = [
        manifest
        for manifest in snapshot.manifests(table.io)
        if manifest.content == ManifestContent.DATA and manifest.added_snapshot_id == snapshot.snapshot_id
    ]
    entries = ManifestGroupPlanner(table.metadata, table.io, rows).plan_manifest_entries(own)
    return any(entry.status == ManifestEntryStatus.ADDED for some in entries for entry in some)


def row_filter(comparisons: Sequence[ColumnTest], now: Schema, then: Schema) -> BooleanExpression:
    """Return the ``comparisons`` as an expression by which pyiceberg rules out files.

    pyiceberg looks names up in the schema ``now``, so a column must be the same in ``then``, the schema of the
    snapshot. Bounds of files do not cover NaN.
    """
    from pyiceberg import expressions

    made: Any = expressions  # their constructors take names and values by position, which their types do not say
    by_sign = {
        "=": made.EqualTo,
        "==": made.EqualTo,
        "<>": made.NotEqualTo,
        "!=": made.NotEqualTo,
        "<": made.LessThan,
        "<=": made.LessThanOrEqual,
        ">": made.GreaterThan,
        ">=": made.GreaterThanOrEqual,
    }
    parts: list[BooleanExpression] = []
    for one in comparisons:
        if one.for_nan or not _is_same(one.column, now, then):
            continue
        if one.sign in by_sign:
            parts.append(by_sign[one.sign](one.column, one.values[0]))
        elif one.sign == "IN":
            parts.append(made.In(one.column, one.values))
        else:
            parts.append((made.IsNull if one.sign == "IS NULL" else made.NotNull)(one.column))
    rows: BooleanExpression = functools.reduce(made.And, parts, made.AlwaysTrue())
    return rows


def _is_same(column: str, now: Schema, then: Schema) -> bool:
    fields = [[field for field in schema.fields if field.name == column] for schema in (now, then)]
    return "." not in column and all(fields) and len({(some[0].field_id, some[0].field_type) for some in fields}) == 1
