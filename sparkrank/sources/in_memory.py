"""Conversion of rows that a caller passes (pandas, polars, pyarrow, or any Arrow stream) to an Arrow table."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.dataset as ds

from sparkrank.base.errors import InputError, SparkrankError, SpecError, first_line, quote, shorten
from sparkrank.inputs.field_paths import columns_of
from sparkrank.inputs.roles import Roles
from sparkrank.sources.integrity import read_checked
from sparkrank.sources.missing_columns import validate_fragments
from sparkrank.sources.stream_file import StreamFile, kept

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from pyspark.sql import DataFrame

    class ArrowStream(Protocol):
        """An object that exports its rows as a stream through Arrow's C interface."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    InMemory: TypeAlias = pd.DataFrame | pl.DataFrame | pl.LazyFrame | pa.Table | pa.RecordBatch | ds.Dataset
    Rows: TypeAlias = DataFrame | InMemory | ArrowStream | str | os.PathLike[str]

_TEXT_FILE = re.compile(r"\.(csv|tsv|json|jsonl|ndjson)(\.(gz|bz2|zst|lz4|snappy))?/?$", re.IGNORECASE)


def is_frame(rows: object) -> bool:
    return hasattr(rows, "sparkSession")


def is_path(rows: object) -> bool:
    return isinstance(rows, (str, os.PathLike))


def is_delta_table(rows: object) -> bool:
    """Return whether ``rows`` is a table of the library deltalake, which stands for one version."""
    deltalake = sys.modules.get("deltalake")
    return deltalake is not None and isinstance(rows, deltalake.DeltaTable)


def is_pandas(rows: object) -> bool:
    pandas = sys.modules.get("pandas")  # anybody with a pandas DataFrame has imported pandas
    return pandas is not None and isinstance(rows, pandas.DataFrame)


def _is_polars(rows: object) -> bool:
    polars = sys.modules.get("polars")  # anybody with a polars frame has imported polars
    return polars is not None and isinstance(rows, polars.DataFrame)


def readable_rows(subject: str, rows: Any, roles: Roles) -> Any:
    """Return ``rows`` unchanged, or their columns with roles as an Arrow table or, for a long stream, as a file.

    Raise :class:`SpecError` if ``rows`` is no table or stream, and :class:`InputError` if it cannot be read.
    """
    if isinstance(rows, str) and not rows:  # Arrow would take it for the folder in which this process runs
        raise SpecError(f"{subject} an empty text: a path to Parquet is needed")
    if getattr(rows, "isStreaming", False) is True:  # a pandas column might have this name too
        raise SpecError(f"{subject} a streaming DataFrame: complete rows are needed")
    if is_delta_table(rows):
        return rows
    if is_path(rows) and (match := _TEXT_FILE.search(os.fspath(rows))) is not None:
        raise SpecError(
            f"{subject} {quote(os.fspath(rows))}, but a path is read as Parquet: read it by Spark, pyarrow or pandas, "
            f"or by the job (format: {'json' if 'j' in match[1].lower() else 'csv'})"
        )
    if is_frame(rows) or is_path(rows) or isinstance(rows, (pa.Table, StreamFile)) or is_pandas(rows):
        return rows
    with _source_errors(f"{subject} a {type(rows).__name__} that"):
        table = _table_of(rows, roles, subject)
    if not isinstance(table, str):
        return table
    module, name = type(rows).__module__, type(rows).__name__
    kind = name if module == "builtins" else f"{module}.{name}"
    reason = table and f", of which Arrow makes no table ({table})"
    raise SpecError(f"{subject} of type {kind}{reason}: a DataFrame, a pyarrow Table or a path to Parquet is needed")


def valid_table(table: pa.Table, roles: Roles, what: str) -> pa.Table:
    """Return ``table``, or raise :class:`InputError` if its columns with roles are not valid Arrow data."""
    role_of = {column: f"{role} column" for role, column in roles.columns()}
    names = table.column_names
    for column in columns_of(roles, names):
        if names.count(column) > 1:  # refused later, by name
            continue
        try:
            table[column].validate(full=True)  # 5 ns for a string of 16 bytes
        except (pa.ArrowException, ValueError, IndexError) as error:
            problem = f'the {role_of.get(column, "column")} "{shorten(column)}" of the {what} is not valid Arrow'
            raise InputError(f"{problem}: {shorten(first_line(error))}") from error
    return table


@contextmanager
def _source_errors(what: str, done: str = "read") -> Iterator[None]:
    """Context manager that turns any error into an :class:`InputError` whose message begins with ``what``."""
    try:
        yield
    except SparkrankError:
        raise
    except Exception as error:  # a source may be a generator or a query, which may raise anything
        raise InputError(f"{what} cannot be {done}: {shorten(first_line(error))}") from error


def readable_again(subject: str, rows: Any) -> Any:
    """Return ``rows`` unchanged or, if they are a stream (readable only once), as a table or a file of all columns."""
    if not hasattr(rows, "__arrow_c_stream__") or isinstance(rows, (pa.Table, pa.RecordBatch)) or is_frame(rows):
        return rows
    if is_pandas(rows) or _is_polars(rows):
        return rows
    with _source_errors(f"{subject} a {type(rows).__name__} that"):
        reader = _reader_of(rows)
        return kept(reader, reader.schema)


def _reader_of(rows: Any) -> pa.RecordBatchReader:
    """Return a reader of the stream of ``rows``. Arrow's own is left as it is: it raises what its batches raise."""
    return rows if isinstance(rows, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(rows)


def _table_of(rows: Any, roles: Roles, subject: str) -> pa.Table | StreamFile | str:
    """Return the role columns of ``rows``, or Arrow's error message if ``rows`` are not a table (such as a Series)."""
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(rows, polars.LazyFrame):
        with _source_errors("the LazyFrame", "collected"):
            rows = rows.select(columns_of(roles, rows.collect_schema().names())).collect(engine="streaming")
    if is_held := _is_polars(rows):
        rows = rows.select(columns_of(roles, rows.columns))  # Arrow may have no type for the other columns
        _validate_arrow_types(rows, subject)
    if isinstance(rows, ds.Dataset):
        validate_fragments(rows, roles)
        return read_checked(rows, columns_of(roles, rows.schema.names))
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if not hasattr(rows, "__arrow_c_stream__"):
        return ""
    try:
        reader = _reader_of(rows)
    except (pa.ArrowException, TypeError, ValueError) as error:
        return shorten(first_line(error))
    read = columns_of(roles, reader.schema.names)
    batches, schema = (batch.select(read) for batch in reader), pa.schema(map(reader.schema.field, read))
    return pa.Table.from_batches(list(batches), schema) if is_held else kept(batches, schema)


def _validate_arrow_types(rows: pl.DataFrame, subject: str) -> None:
    """Raise :class:`InputError` if a polars column has Python objects, or a type that Arrow lacks (Int128)."""
    for name, kind in rows.schema.items():
        try:
            pa.RecordBatchReader.from_stream(rows.select(name).clear())
            is_arrow = not kind.is_object()
        except (pa.ArrowException, TypeError, ValueError):
            is_arrow = False
        if not is_arrow:
            problem = f'a frame of polars whose column "{shorten(name)}" is of type {shorten(kind)}'
            raise InputError(f"{subject} {problem}, which Arrow does not have: cast it to another")
