"""Impressions in Parquet files named by path, read by Arrow: which row groups, which columns.

Splits are planned from the footers alone. A split is a list of fragments (a file and some of its row groups) that one
task reads; it travels to the task as it is, with the file system it was found on.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeAlias

import pyarrow as pa
import pyarrow.dataset as ds

from sparkrank.base.errors import InputError, NoInputError, shortened, unreadable
from sparkrank.inputs.field_paths import Place, places
from sparkrank.inputs.roles import Roles
from sparkrank.numeric.memory import is_limited
from sparkrank.sources.conditions import Condition
from sparkrank.sources.files import without_password
from sparkrank.sources.folders import FolderColumns
from sparkrank.sources.integrity import Stamp, checked_scan, unchanged
from sparkrank.sources.missing_columns import lacking_columns, raise_lacking_column, validate_condition_columns
from sparkrank.sources.nested import lacks, leaf_batches, shape_of
from sparkrank.sources.scanning import filtered, gathered
from sparkrank.sources.sizes import BATCH_ROWS, rows_of_elements
from sparkrank.sources.sizes import batch_rows as rows_at_once
from sparkrank.sources.stored_files import StoredFiles
from sparkrank.sources.types import stored_schema

# What a task reads at once: 50 MB of columns. They fall into all buckets of the day: of 100 million rows, which have
# 250, the pieces that a split sends to each are above 100 KB.
SPLIT_ROWS = 2_000_000
FOOTER_THREADS = 16  # reading a footer waits for the store, not for a core
_OF_SPARK = b"org.apache.spark.sql.parquet.row.metadata"  # the types of Spark, in the footer of what it writes
# A file's row groups, its rows, and the byte where its data end: those of a file that was written anew hardly agree.
Layout: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class Split:
    """What one task reads: fragments, each a file with some of its row groups, and their rows before any filter.

    Footers do not travel with the fragments but are read again; ``layouts`` tell whether they are those of the plan,
    and ``stamps`` whether the files are.
    """

    fragments: tuple[ds.ParquetFileFragment, ...]
    rows: int
    layouts: tuple[Layout, ...]
    stamps: tuple[Stamp | None, ...]


@dataclass(frozen=True)
class ParquetInput:
    """Parquet files under one path, with the schema that holds for all of them.

    Columns that some files lack are null there; integers and floats of several widths become the widest. Folders
    named ``key=value`` give columns, in place of those that files have of the same name. Of the columns ``unlike``
    Spark makes something else than Arrow. ``lacking`` has, of each column that not all files have, one with rows
    that lacks it, or an empty text. ``folders`` are the columns of folders.
    """

    path: str
    schema: pa.Schema
    fragments: tuple[ds.ParquetFileFragment, ...]
    rows: int
    unlike: frozenset[str]
    lacking: Mapping[str, str]
    folders: FolderColumns
    stored: StoredFiles

    @classmethod
    def at(cls, path: str, what: str = "input", inferred: bool = True) -> ParquetInput:
        """The files at ``path``: a file, a folder, or a pattern with wildcards; ``what`` names them in sentences.

        The columns of folders have types ``inferred`` from their values, or are texts.

        ``path`` may name another file system (``s3://``, ``hdfs://``, ``gs://``), which is opened with the credentials
        that this process has. Raises :class:`InputError` when nothing is there, or files do not fit together, and
        :class:`StoreError` when the store fails.
        """
        return cls.of(StoredFiles.at(path, what), inferred)

    @classmethod
    def of(cls, stored: StoredFiles, inferred: bool = True) -> ParquetInput:
        """What the footers say of the files of ``stored``; raises as :meth:`at` does."""
        folders = stored.folder_columns(inferred)
        base, files = stored.listing.base, list(stored.listing.files)
        partitioning = None if base is None else ds.partitioning(folders.schema, flavor="hive")
        try:
            dataset = ds.dataset(
                files,
                folders.schema,
                "parquet",
                filesystem=stored.store,
                partition_base_dir=base,
                partitioning=partitioning,
            )
            fragments = tuple(dataset.get_fragments())
            with ThreadPoolExecutor(FOOTER_THREADS) as pool:
                rows = list(pool.map(_read_footer, fragments))
            stored_as = [fragment.physical_schema for fragment in fragments]
            physical = [_without(stored_schema(schema), folders.schema.names) for schema in stored_as]
            unlike = folders.unlike.union(*map(_intervals, stored_as))
            schema = _known(pa.unify_schemas([*physical, folders.schema], promote_options="permissive"))
        except (FileNotFoundError, NotADirectoryError):
            raise NoInputError(f"there is no parquet {stored.what} at {without_password(stored.path)}") from None
        except (pa.ArrowException, OSError) as error:
            problem = f"the {stored.what} {without_password(stored.path)} cannot be read as parquet"
            raise unreadable(problem, error) from error
        with_rows = [file if count else "" for file, count in zip(files, rows, strict=True)]
        lacking = lacking_columns([each.names for each in physical], with_rows)
        return cls(stored.path, schema, fragments, sum(rows), unlike, lacking, folders, stored)

    def validate_has_columns(self, roles: Roles, what: str, where: str | None = None) -> None:
        """Raise :class:`InputError` where a file of ``what`` lacks a column that others have, and that has one of
        ``roles`` or that ``where`` asks for.
        """
        at = places(roles, {each.name: shape_of(each.type) for each in self.schema}, what)
        for role, column in roles.columns():
            place = at.get(column, Place(column, ()))
            if file := self.lacking.get(place.column) or self._lacking_inside(place):
                raise_lacking_column(file, f"the {role} column", column, what)
        validate_condition_columns(self.lacking, where, what)

    def _lacking_inside(self, place: Place) -> str | None:
        """A file with rows that lacks what lies at ``place`` in a column that it has."""
        if not place.steps or place.column in self.folders.schema.names:
            return None
        kind = self.schema.field(place.column).type
        with_rows = (fragment for fragment in self.fragments if fragment.metadata.num_rows)
        return next((each.path for each in with_rows if lacks(each.physical_schema, kind, place)), None)

    def bucket_rows(self, arrays: Sequence[str] = ()) -> int:
        """The bucket rows that all rows make: one each, or of those with ``arrays`` one for each of their elements."""
        return sum(rows_of_elements(each, arrays) for each in self.fragments) if arrays else self.rows

    def splits(
        self, split_rows: int = SPLIT_ROWS, where: Condition | None = None, arrays: Sequence[str] = ()
    ) -> list[Split]:
        """The row groups that ``where`` may hold for, in splits of about ``split_rows`` bucket rows, small files
        together; rows with ``arrays`` make one for each of their elements.

        The largest come first, so that those who read them end at about the same time.
        """
        splits: list[tuple[int, Split]] = []
        gathered: list[tuple[ds.ParquetFileFragment, Layout]] = []
        made = 0
        of_groups, stamps = None if where is None else where.of_groups, self.stored.listing.stamps

        def split() -> Split:
            fragments, layouts = zip(*gathered, strict=True)
            rows = sum(group.num_rows for each in fragments for group in each.row_groups)
            return Split(fragments, rows, layouts, tuple(stamps.get(each.path) for each in fragments))

        for fragment in self.fragments:
            for part in fragment.split_by_row_group(of_groups, self.schema):
                size = rows_of_elements(part, arrays)
                if gathered and made + size > split_rows:
                    splits.append((made, split()))
                    gathered, made = [], 0
                gathered.append((part, _layout(part)))
                made += size
        if gathered:
            splits.append((made, split()))
        return [each for _, each in sorted(splits, key=itemgetter(0), reverse=True)]


def _intervals(schema: pa.Schema) -> set[str]:
    """The columns that are intervals to the Spark that wrote a file of ``schema``, which itself has whole numbers."""
    of_spark = (schema.metadata or {}).get(_OF_SPARK)
    fields = [] if of_spark is None else json.loads(of_spark)["fields"]
    return {field["name"] for field in fields if str(field["type"]).startswith("interval")}


def read_split(
    split: Split,
    schema: pa.Schema,
    columns: Sequence[str],
    where: Condition | None,
    nested: Mapping[str, Place] | None = None,
    batch_rows: int = SPLIT_ROWS,
) -> Iterator[pa.Table]:
    """The ``columns`` of a split's rows that ``where`` holds for, in tables of about ``batch_rows`` rows.

    Those that are ``nested`` lie inside of columns of ``schema``.

    Raises :class:`InputError` when a file cannot be read, has gone, or was written anew since the splits were planned,
    and :class:`StoreError` when the store fails.
    """
    parts = zip(split.fragments, split.layouts, split.stamps, strict=True)
    yield from gathered(
        itertools.chain.from_iterable(
            _checked(fragment, schema, columns, where, nested or {}, layout, stamp) for fragment, layout, stamp in parts
        ),
        batch_rows,
    )


def _checked(
    fragment: ds.ParquetFileFragment,
    schema: pa.Schema,
    columns: Sequence[str],
    where: Condition | None,
    nested: Mapping[str, Place],
    layout: Layout,
    stamp: Stamp | None,
) -> Iterator[pa.RecordBatch]:
    """The batches of ``fragment``, all of its rows; raises as :func:`read_split` does."""
    path, rows = fragment.path, 0
    try:
        with unchanged(fragment.filesystem, path, stamp):
            if _layout(fragment) != layout:
                raise InputError(f"{path} was written anew while the job ran")
            for batch in _batches(fragment, schema, columns, where or Condition(None, None), nested):
                rows += batch.num_rows
                yield batch
            planned = sum(group.num_rows for group in fragment.row_groups)
            if where is None and rows != planned:
                raise InputError(f"{shortened(path)} cannot be read: {rows} rows came of the {planned} of its footer")
    except FileNotFoundError:
        raise InputError(f"{shortened(path)} was deleted while the job ran") from None
    except (pa.ArrowException, OSError) as error:
        raise unreadable(f"{shortened(path)} cannot be read", error) from error


def _batches(
    fragment: ds.ParquetFileFragment,
    schema: pa.Schema,
    columns: Sequence[str],
    where: Condition,
    nested: Mapping[str, Place],
) -> Iterator[pa.RecordBatch]:
    """The ``columns`` of the rows of ``fragment`` that ``where`` holds for."""
    if not nested.keys().isdisjoint(columns) or is_limited():
        at = {name: nested.get(name, Place(name, ())) for name in columns}
        yield from leaf_batches(fragment, schema, at, where)
        return
    at_once = rows_at_once(fragment, columns)
    asked = functools.partial(
        fragment.to_batches,
        schema=schema,
        use_threads=False,
        batch_size=at_once,
        fragment_scan_options=checked_scan(),
    )
    if at_once < BATCH_ROWS:
        asked = functools.partial(asked, batch_readahead=0)
    yield from filtered(asked, columns, where)


def _without(schema: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """``schema`` without the columns ``names``."""
    return pa.schema([field for field in schema if field.name not in names])


def _known(schema: pa.Schema) -> pa.Schema:
    """``schema`` with whole numbers, as Spark has it, for a column that is null in every file and of no other type."""
    kinds = [field.with_type(pa.int32()) if pa.types.is_null(field.type) else field for field in schema]
    return pa.schema(kinds)


def _layout(fragment: ds.ParquetFileFragment) -> Layout:
    metadata = fragment.metadata
    last = metadata.row_group(metadata.num_row_groups - 1)
    ends = [
        column.data_page_offset + column.total_compressed_size for column in map(last.column, range(last.num_columns))
    ]
    return metadata.num_row_groups, metadata.num_rows, max(ends, default=0)


def _read_footer(fragment: ds.ParquetFileFragment) -> int:
    fragment.ensure_complete_metadata()
    return int(fragment.metadata.num_rows)
