"""Parquet files, read by Arrow. A split consists of fragments (row groups of a file), chosen by the footers."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from sparkrank.base.errors import InputError, NoInputError, shorten, unreadable
from sparkrank.inputs.field_paths import Place, places
from sparkrank.inputs.roles import Roles
from sparkrank.sources.arrow_scan import gathered, in_splits
from sparkrank.sources.conditions import Condition
from sparkrank.sources.files import without_password
from sparkrank.sources.folders import PartitionTypes, folder_values
from sparkrank.sources.integrity import Stamp, unchanged
from sparkrank.sources.missing_columns import READING_THREADS, lacking_column, lacking_columns, validate_columns
from sparkrank.sources.nested import lacks, leaf_batches, shape_of
from sparkrank.sources.protocol import FileSplit, Partitioning, Split
from sparkrank.sources.sizes import as_rows, rows_of_elements, stored_bytes
from sparkrank.sources.stored_files import StoredFiles
from sparkrank.sources.types import stored_schema

if TYPE_CHECKING:
    from sparkrank.sources.side_rows import SideRows

# The number of rows that a task reads at once (50 MB of columns) and distributes to all buckets of the day. For 100
# million rows, which have 250 buckets, each bucket gets more than 100 KB from a split.
SPLIT_ROWS = 2_000_000


@dataclass(frozen=True)
class ParquetSplit:
    """The row groups that one task reads, their rows before filters, and the sizes and times of their files."""

    fragments: tuple[ds.ParquetFileFragment, ...]
    rows: int
    stamps: tuple[Stamp | None, ...]


class TablePartitions(NamedTuple):
    """The partitions of files in the metadata of a table: the partitionings, and the values of each path."""

    partitionings: Sequence[Partitioning]
    values: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class ParquetInput:
    """Parquet files under one path with one common schema, as a :class:`~sparkrank.sources.protocol.Source`.

    Integers and floats of several widths get the widest type. ``folders`` are columns from folder names, which replace
    columns of the same name in the files. ``lacking`` maps each column of only some files to a file with rows that
    lacks the column, or to an empty string if only files without rows lack it. Files are in the partitions ``in_table``
    or, if it is None, in those of their folders.
    """

    pushes_conditions: ClassVar[bool] = True
    leaves_to_spark: ClassVar[bool] = True

    schema: pa.Schema
    fragments: tuple[ds.ParquetFileFragment, ...]
    file_rows: int
    lacking: Mapping[str, str]
    folders: pa.Schema
    stored: StoredFiles
    in_table: TablePartitions | None = None

    @classmethod
    def open(cls, side: SideRows, roles: Roles) -> ParquetInput:  # noqa: ARG003
        return cls.at(str(side.path), side.what, side.partition_types)

    @classmethod
    def at(cls, path: str, what: str = "input", partition_types: PartitionTypes = "inferred") -> ParquetInput:
        """Open the files of the input ``what`` at ``path``: a file, a folder or a pattern, local or remote."""
        return cls.of(StoredFiles.at(path, what), partition_types)

    @classmethod
    def of(cls, stored: StoredFiles, partition_types: PartitionTypes = "inferred") -> ParquetInput:
        """Open the files in ``stored`` by reading their footers. Raise the same errors as :meth:`at`."""
        folders = stored.folder_columns(partition_types)
        return cls.of_fragments(stored.fragments("parquet", folders), folders, stored)

    @classmethod
    def of_fragments(cls, files: Sequence[ds.FileFragment], folders: pa.Schema, stored: StoredFiles) -> ParquetInput:
        """Open ``files``. The partition expression of a file contains its values for the columns in ``folders``."""
        fragments = tuple(files)
        try:
            with ThreadPoolExecutor(READING_THREADS) as pool:
                rows = list(pool.map(_read_footer, fragments))
            in_folders = folders.names
            physical = [
                pa.schema([column for column in stored_schema(file.physical_schema) if column.name not in in_folders])
                for file in fragments
            ]
            unified = pa.unify_schemas([*physical, folders], promote_options="permissive")
        except (FileNotFoundError, NotADirectoryError):
            raise NoInputError(f"there is no parquet {stored.what} at {without_password(stored.path)}") from None
        except (pa.ArrowException, OSError) as error:
            problem = f"the {stored.what} {without_password(stored.path)} cannot be read as parquet"
            raise unreadable(problem, error) from error
        kinds = (pa.int32() if pa.types.is_null(kind) else kind for kind in unified.types)  # columns of nulls
        schema = pa.schema([field.with_type(kind) for field, kind in zip(unified, kinds, strict=True)])
        with_rows = [fragment.path if count else "" for fragment, count in zip(fragments, rows, strict=True)]
        lacking = lacking_columns([columns.names for columns in physical], with_rows)
        return cls(schema, fragments, sum(rows), lacking, folders, stored)

    @property
    def partitionings(self) -> Sequence[Partitioning]:
        in_folders = {name: (name,) for name in self.folders.names}
        return [in_folders] if self.in_table is None else self.in_table.partitionings

    @property
    def warnings(self) -> list[str]:
        return []

    def check(self, roles: Roles, where: str | None) -> None:
        what = self.stored.what
        inside = places(roles, {column.name: shape_of(column.type) for column in self.schema}, what)
        for role, column in roles.columns():
            if (place := inside.get(column)) is not None and (file := self._lacking_inside(place)):
                raise lacking_column(file, f"the {role} column", column, what)
        validate_columns(self.lacking, self.schema.names, roles, what, where)

    def _lacking_inside(self, place: Place) -> str | None:
        """Return a file with rows that lacks the field at ``place``, or None if there is no such file."""
        if place.column in self.folders.names:
            return None
        with_rows = (fragment for fragment in self.fragments if fragment.metadata.num_rows)
        return next((file.path for file in with_rows if lacks(file.physical_schema, place)), None)

    def rows(self, columns: Sequence[str], arrays: Mapping[str, Place]) -> int:
        stored = [place.column for place in arrays.values()]
        made = sum(rows_of_elements(part, stored) for part in self.fragments) if arrays else self.file_rows
        return as_rows(made, stored_bytes(self.fragments, columns))

    def splits(
        self, places: Mapping[str, Place], split_rows: int, where: Condition | None, arrays: Mapping[str, Place]
    ) -> list[Split]:
        splits = self.file_splits(split_rows, where, [place.column for place in arrays.values()])
        firsts = itertools.accumulate((split.rows for split in splits), initial=0)
        return [
            Split(first, functools.partial(read_split, split, self.schema, places, where))
            for first, split in zip(firsts, splits, strict=False)
        ]

    def file_splits(
        self, split_rows: int = SPLIT_ROWS, where: Condition | None = None, arrays: Sequence[str] = ()
    ) -> list[ParquetSplit]:
        """Return the row groups that may meet ``where``, in splits of about ``split_rows`` rows, largest first."""
        row_group_filter = None if where is None else where.row_group_filter
        parts = (part for file in self.fragments for part in file.split_by_row_group(row_group_filter, self.schema))
        return list(map(self._split, in_splits(((part, rows_of_elements(part, arrays)) for part in parts), split_rows)))

    def files(self, places: Mapping[str, Place], batch_rows: int, where: Condition | None) -> list[FileSplit]:
        row_group_filter = None if where is None else where.row_group_filter
        columns = list(dict.fromkeys(place.column for place in places.values()))
        files = []
        for file in self.fragments:
            split = self._split(file.split_by_row_group(row_group_filter, self.schema))
            if split.rows:
                rows = as_rows(split.rows, stored_bytes([file], columns) * split.rows // file.metadata.num_rows)
                read = functools.partial(read_split, split, self.schema, places, where, batch_rows)
                partition = folder_values(file) if self.in_table is None else self.in_table.values[file.path]
                files.append(FileSplit(file.path, rows, partition, read))
        return files

    def _split(self, fragments: Sequence[ds.ParquetFileFragment]) -> ParquetSplit:
        rows = sum(group.num_rows for fragment in fragments for group in fragment.row_groups)
        stamps = tuple(self.stored.listing.stamps.get(fragment.path) for fragment in fragments)
        return ParquetSplit(tuple(fragments), rows, stamps)


def read_split(
    split: ParquetSplit,
    schema: pa.Schema,
    places: Mapping[str, Place],
    where: Condition | None,
    batch_rows: int = SPLIT_ROWS,
) -> Iterator[pa.Table]:
    """Read the columns at ``places`` for the rows that meet ``where``, in tables of about ``batch_rows`` rows."""
    parts = zip(split.fragments, split.stamps, strict=True)
    batches = (_checked(fragment, schema, places, where, stamp) for fragment, stamp in parts)
    yield from gathered(itertools.chain.from_iterable(batches), batch_rows)


def _checked(
    fragment: ds.ParquetFileFragment,
    schema: pa.Schema,
    places: Mapping[str, Place],
    where: Condition | None,
    stamp: Stamp | None,
) -> Iterator[pa.RecordBatch]:
    path, rows = fragment.path, 0
    try:
        with unchanged(fragment.filesystem, path, stamp):
            for batch in leaf_batches(fragment, schema, places, where or Condition(None, None)):
                rows += batch.num_rows
                yield batch
            planned = sum(group.num_rows for group in fragment.row_groups)
            if where is None and rows != planned:
                raise InputError(f"{shorten(path)} cannot be read: {rows} rows came of the {planned} of its footer")
    except FileNotFoundError:
        raise InputError(f"{shorten(path)} was deleted while the job ran") from None
    except (pa.ArrowException, OSError) as error:
        raise unreadable(f"{shorten(path)} cannot be read", error) from error


def _read_footer(fragment: ds.ParquetFileFragment) -> int:
    fragment.ensure_complete_metadata()
    return int(fragment.metadata.num_rows)
