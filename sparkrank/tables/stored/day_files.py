"""The files of a day's tables, read by Arrow, or by Spark if only Spark knows the file system."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from sparkrank.base.errors import InputError, unreadable
from sparkrank.engines.spark.failures import reading_errors
from sparkrank.sources.files import file_system, visible_files, without_password
from sparkrank.sources.integrity import SPARK_CHECKED
from sparkrank.tables.commit.days import local_path, run_folders, shown_run, table_folders
from sparkrank.tables.commit.output_folder import DAY, PLAIN
from sparkrank.tables.stored.validation import ADVICE, validate_column_types, validate_utf8

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


_LOOKS = 5  # attempts to list folders twice alike while a run may move them (sparkrank.tables.commit.plain_folders)


class WrittenFile(NamedTuple):
    """The content of a file as its run wrote it. Earlier releases did not record the size and checksum of its bytes."""

    rows: int
    bytes: int | None = None
    checksum: str | None = None


Written: TypeAlias = "Mapping[str, WrittenFile]"  # the files of a table, by name


class DayFiles(Protocol):
    """The tables of one day."""

    def has(self, name: str) -> bool:
        """Whether the day has the table ``name``. Raises :class:`InputError` if its files cannot be read."""

    def names(self, name: str) -> set[str]:
        """The names of the files of the table ``name``; empty if they cannot be listed."""

    def read(self, name: str, schema: pa.Schema, written: Written | None = None) -> pa.Table:
        """The columns of ``schema`` that the table ``name`` has, with dictionary-encoded texts.

        Raises :class:`InputError` if they cannot be read or differ from ``written``, and :class:`StoreError` if the
        store fails.
        """


def day_files(output: str, day: str, names: Sequence[str], spark: SparkSession | None, column: str = DAY) -> DayFiles:
    """The files of the tables ``names`` of ``day`` under ``output``, all of one run where the file system allows it.

    Raises :class:`InputError` if nothing opens the file system, and :class:`StoreError` if the store fails.
    """
    try:
        files = _opened(day, run_folders(output, day, names, column))
        for _ in range(_LOOKS - 1):
            shown = shown_run(output, day, column)
            if shown is None or not (shown / PLAIN).exists():
                break
            before, files = files, _opened(day, run_folders(output, day, names, column))
            if files == before:
                break
        return files
    except (pa.ArrowException, OSError) as error:
        if spark is None or local_path(output) is not None:
            raise unreadable(f"the tables under {without_password(output)} cannot be opened", error) from error
        return SparkFolders(day, spark, table_folders(output, day, names, column))


def files_of_run(folder: str, day: str, names: Sequence[str]) -> ArrowFiles:
    """The files of the tables ``names`` that a run of ``day`` has written to its ``folder`` but not yet committed."""
    return _opened(day, {name: f"{folder}/{name}" for name in names})


@dataclass(frozen=True)
class ArrowFiles:
    """The files of each table on a file system that Arrow opens."""

    day: str
    store: fs.FileSystem
    files: Mapping[str, tuple[str, ...]]

    def has(self, name: str) -> bool:
        return bool(self.files[name])

    def names(self, name: str) -> set[str]:
        return {file.rpartition("/")[2] for file in self.files[name]}

    def read(self, name: str, schema: pa.Schema, written: Written | None = None) -> pa.Table:
        if written is not None:
            self._validate_written_files(name, written)
        tables = []
        for file in self.files[name]:
            as_written = None if written is None else written[file.rpartition("/")[2]]
            try:
                tables.append(self._table(name, schema, file, as_written))
            except FileNotFoundError:
                raise InputError(f"{self.day} was evaluated again while it was read: merge once more") from None
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                failure = f"the table {name} of {self.day} cannot be read from {file}"
                raise unreadable(failure, error, advice=f" ({ADVICE})") from error
            validate_utf8(tables[-1], name, self.day)
        columns = {tuple(table.column_names) for table in tables}
        if len(columns) > 1:
            raise InputError(f"the table {name} of {self.day} has files of different columns: {ADVICE}")
        return pa.concat_tables(tables).unify_dictionaries()

    def _table(self, name: str, schema: pa.Schema, file: str, written: WrittenFile | None) -> pa.Table:
        """The columns of ``schema`` in one file, which must match ``written``."""
        with self.store.open_input_file(file) as opened:
            source = opened if written is None else self._same_bytes(name, file, opened, written)
            # ParquetFile reads only this file; read_table would look for partitions in its path.
            parquet = pq.ParquetFile(source, page_checksum_verification=True)
            columns, metadata = parquet.schema_arrow, parquet.metadata
            validate_column_types(columns, schema, name, self.day)
            if name == "runs" and metadata.num_rows != 1:
                raise InputError(f"the table runs of {self.day} has {metadata.num_rows} rows, not one: {ADVICE}")
            if written is not None and metadata.num_rows != written.rows:  # before any row is read
                raise self._another(name, f"{metadata.num_rows} rows", file, written.rows)
            texts = [field.name for field in schema if pa.types.is_string(field.type) and field.name in columns.names]
            parquet = pq.ParquetFile(source, metadata=metadata, read_dictionary=texts, page_checksum_verification=True)
            return parquet.read([column for column in schema.names if column in columns.names])

    def _same_bytes(
        self, name: str, file: str, opened: pa.NativeFile, written: WrittenFile
    ) -> pa.NativeFile | pa.BufferReader:
        """The bytes of ``opened``, after checking that they are those the run wrote."""
        if written.bytes is not None and opened.size() != written.bytes:
            raise self._another(name, f"{opened.size()} bytes", file, written.bytes)
        if written.checksum is None:
            return opened
        content = opened.read_buffer()
        if hashlib.sha256(content).hexdigest() != written.checksum:
            raise InputError(f"the table {name} of {self.day} has other bytes in {file} than its run wrote: {ADVICE}")
        return pa.BufferReader(content)

    def _another(self, name: str, size: str, file: str, written: int) -> InputError:
        return InputError(
            f"the table {name} of {self.day} has {size} in {file} where its run wrote {written}: {ADVICE}"
        )

    def _validate_written_files(self, name: str, written: Written) -> None:
        """Raise :class:`InputError` if a table's folder does not have exactly the files that the day's run wrote."""
        there = {file.rpartition("/")[2]: file for file in self.files[name]}
        if others := sorted(there.keys() - written.keys()):
            raise InputError(
                f"the table {name} of {self.day} holds a file that its run did not write ({there[others[0]]}): remove "
                f"it, or {ADVICE}"
            )
        if lost := sorted(written.keys() - there.keys()):
            raise InputError(f"the table {name} of {self.day} has lost its file {lost[0]}: {ADVICE}")


@dataclass(frozen=True)
class SparkFolders:
    """The folder of each table on a file system that Spark opens. Reading takes a small job per day and table."""

    day: str
    spark: SparkSession
    folders: Mapping[str, str]

    def has(self, name: str) -> bool:
        from pyspark.errors import AnalysisException

        with self._reading_errors(name):
            try:
                return bool(self.spark.read.parquet(self.folders[name]).columns)
            except AnalysisException as error:
                if (error.getCondition() or "").startswith(("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")):
                    return False
                raise

    def names(self, name: str) -> set[str]:  # noqa: ARG002 - Spark does not list files
        return set()

    def read(self, name: str, schema: pa.Schema, written: Written | None = None) -> pa.Table:  # noqa: ARG002 - None
        with self._reading_errors(name):
            frame = self.spark.read.options(**SPARK_CHECKED).parquet(self.folders[name])
            rows = frame.select([column for column in schema.names if column in frame.columns]).toArrow()
        validate_column_types(rows.schema, schema, name, self.day)
        for index, column in enumerate(rows.column_names):
            if pa.types.is_string(schema.field(column).type):
                rows = rows.set_column(index, column, rows[column].dictionary_encode())
        validate_utf8(rows, name, self.day)
        return rows.unify_dictionaries()

    def _reading_errors(self, name: str) -> AbstractContextManager[None]:
        return reading_errors(self.folders[name], f"table {name}", f"table {name} of {self.day}")


def _opened(day: str, folders: Mapping[str, str]) -> ArrowFiles:
    opened = {name: file_system(folder) for name, folder in folders.items()}
    (store, _), *_ = opened.values()
    return ArrowFiles(day, store, {name: _files(*place) for name, place in opened.items()})


def _files(store: fs.FileSystem, folder: str) -> tuple[str, ...]:
    try:
        return tuple(visible_files(store, folder, folder.count("/") + 1))
    except NotADirectoryError:
        return ()
