"""Impressions in Parquet files named by path, read by Arrow: which row groups, which columns.

Splits are planned from the footers alone. A split is a list of fragments (a file and some of its row groups) that one
task reads; it travels to the task as it is, with the file system it was found on.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from sparkrank.engine.reading.conditions import Condition
from sparkrank.engine.reading.files import file_system, files_at, is_pattern, without_password
from sparkrank.engine.reading.folders import folder_columns, refuse_uneven
from sparkrank.engine.reading.types import stored_schema
from sparkrank.errors import InputError, unreadable

# What a task reads at once: 50 MB of columns. They fall into all buckets of the day: of 100 million rows, which have
# 250, the pieces that a split sends to each are above 100 KB.
SPLIT_ROWS = 2_000_000
FOOTER_THREADS = 16  # reading a footer waits for the store, not for a core
_OF_SPARK = b"org.apache.spark.sql.parquet.row.metadata"  # the types of Spark, in the footer of what it writes
_HOLDS = ""  # a name that no column has
# A file's row groups, its rows, and the byte where its data end: those of a file that was written anew hardly agree.
Layout: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class Split:
    """What one task reads: fragments, each a file with some of its row groups, and their rows before any filter.

    Footers do not travel with the fragments but are read again; ``layouts`` tell whether they are those of the plan.
    """

    fragments: tuple[ds.ParquetFileFragment, ...]
    rows: int
    layouts: tuple[Layout, ...]


@dataclass(frozen=True)
class ParquetInput:
    """Parquet files under one path, with the schema that holds for all of them.

    Columns that some files lack are null there; integers and floats of several widths become the widest. Folders
    named ``key=value`` give columns, in place of those that files have of the same name. Of the columns ``unlike``
    Spark makes something else than Arrow.
    """

    path: str
    schema: pa.Schema
    fragments: tuple[ds.ParquetFileFragment, ...]
    rows: int
    unlike: frozenset[str] = frozenset()

    @classmethod
    def at(cls, path: str, what: str = "input", inferred: bool = True) -> ParquetInput:
        """The files at ``path``: a file, a folder, or a pattern with wildcards; ``what`` names them in sentences.

        The columns of folders have types ``inferred`` from their values, or are texts.

        ``path`` may name another file system (``s3://``, ``hdfs://``, ``gs://``), which is opened with the credentials
        that this process has. Raises :class:`InputError` when nothing is there, or files do not fit together, and
        :class:`StoreError` when the store fails.
        """
        place = without_password(path)
        try:
            store, inside = file_system(path)
            files = files_at(store, inside)
            if not files:
                raise InputError(f"there is no parquet {what} at {place}")
            base = None if is_pattern(inside) else inside
            partitioning, of_folders, unlike = None, pa.schema([]), frozenset[str]()
            if base is not None and base != files[0]:
                refuse_uneven(f"the {what} {place}", files, base)
                of_folders, unlike = folder_columns(files, base, inferred)
                partitioning = ds.partitioning(of_folders, flavor="hive")
            dataset = ds.dataset(
                files, of_folders, "parquet", filesystem=store, partition_base_dir=base, partitioning=partitioning
            )
            fragments = tuple(dataset.get_fragments())
            with ThreadPoolExecutor(FOOTER_THREADS) as pool:
                rows = sum(pool.map(_read_footer, fragments))
            physical = [_without(stored_schema(fragment.physical_schema), of_folders.names) for fragment in fragments]
            unlike = unlike.union(*(_intervals(fragment.physical_schema) for fragment in fragments))
            schema = _known(pa.unify_schemas([*physical, of_folders], promote_options="permissive"))
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"there is no parquet {what} at {place}") from None
        except (pa.ArrowException, OSError) as error:
            raise unreadable(f"the {what} {place} cannot be read as parquet", error) from error
        return cls(path, schema, fragments, rows, unlike)

    def splits(self, split_rows: int = SPLIT_ROWS, where: Condition | None = None) -> list[Split]:
        """The row groups that ``where`` may hold for, in splits of about ``split_rows`` rows, small files together.

        The largest come first, so that those who read them end at about the same time.
        """
        splits: list[Split] = []
        gathered: list[tuple[ds.ParquetFileFragment, Layout]] = []
        rows = 0
        of_groups = None if where is None else where.of_groups

        def split() -> Split:
            fragments, layouts = zip(*gathered, strict=True)
            return Split(fragments, rows, layouts)

        for fragment in self.fragments:
            for part in fragment.split_by_row_group(of_groups, self.schema):
                size = sum(group.num_rows for group in part.row_groups)
                if gathered and rows + size > split_rows:
                    splits.append(split())
                    gathered, rows = [], 0
                gathered.append((part, _layout(part)))
                rows += size
        return sorted([*splits, split()] if gathered else splits, key=lambda each: each.rows, reverse=True)


def _intervals(schema: pa.Schema) -> set[str]:
    """The columns that are intervals to the Spark that wrote a file of ``schema``, which itself has whole numbers."""
    told = (schema.metadata or {}).get(_OF_SPARK)
    fields = [] if told is None else json.loads(told)["fields"]
    return {field["name"] for field in fields if str(field["type"]).startswith("interval")}


def read_split(
    split: Split, schema: pa.Schema, columns: Sequence[str], where: Condition | None, batch_rows: int = SPLIT_ROWS
) -> Iterator[pa.Table]:
    """The ``columns`` of a split's rows that ``where`` holds for, in tables of about ``batch_rows`` rows.

    Raises :class:`InputError` when a file cannot be read, has gone, or was written anew since the splits were planned,
    and :class:`StoreError` when the store fails.
    """
    held: list[pa.RecordBatch] = []
    rows = 0
    for fragment, layout in zip(split.fragments, split.layouts, strict=True):
        try:
            if _layout(fragment) != layout:
                raise InputError(f"{fragment.path} was written anew while the job ran")
            for batch in _batches(fragment, schema, columns, where or Condition(None, None)):
                held.append(batch)
                rows += batch.num_rows
                if rows >= batch_rows:
                    yield pa.Table.from_batches(held)
                    held, rows = [], 0
        except FileNotFoundError:
            raise InputError(f"{fragment.path} was deleted while the job ran") from None
        except (pa.ArrowException, OSError) as error:
            raise unreadable(f"{fragment.path} cannot be read", error) from error
    if held:
        yield pa.Table.from_batches(held)


def _batches(
    fragment: ds.ParquetFileFragment, schema: pa.Schema, columns: Sequence[str], where: Condition
) -> Iterator[pa.RecordBatch]:
    """The ``columns`` of the rows of ``fragment`` that ``where`` holds for."""
    asked = functools.partial(fragment.to_batches, schema=schema, filter=where.of_groups, use_threads=False)
    if where.of_rows is None:
        yield from asked(columns=list(columns))
        return
    for batch in asked(columns={name: pc.field(name) for name in columns} | {_HOLDS: where.of_rows}):
        yield batch.filter(batch[_HOLDS]).select(list(columns))


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
