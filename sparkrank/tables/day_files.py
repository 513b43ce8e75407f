"""The files of a day's tables, which Arrow reads, or Spark where only Spark knows the file system."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from sparkrank.engines.arrow.files import file_system, visible_files, without_password
from sparkrank.engines.spark.failures import reading_errors
from sparkrank.errors import InputError, unreadable
from sparkrank.tables.days import DAY, local_path, run_folders
from sparkrank.tables.validation import refuse_no_utf8, refuse_other_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


Written: TypeAlias = "Mapping[str, int]"  # the number of rows of each file of a table, by the name of the file


class DayFiles(Protocol):
    """The tables of one day."""

    def has(self, name: str) -> bool:
        """Whether the day has the table ``name``. Raises :class:`InputError` where its files cannot be read."""

    def read(self, name: str, schema: pa.Schema, written: Written | None = None) -> pa.Table:
        """The columns of ``schema`` that the table ``name`` has, with dictionary-encoded texts.

        Raises :class:`InputError` where files cannot be read, a column has another type, or the files differ from
        ``written``, and :class:`StoreError` where the store fails.
        """


def day_files(output: str, day: str, names: Sequence[str], spark: SparkSession | None, column: str = DAY) -> DayFiles:
    """The files of the tables ``names`` of ``day`` under ``output``, all of one run where the file system allows it.

    ``column`` is the partition column of the tables: days, or windows of days.

    Raises :class:`InputError` where Arrow cannot open the file system and ``spark`` is None, and :class:`StoreError`
    where the store fails.
    """
    folders = run_folders(output, day, names, column)
    try:
        opened = {name: file_system(folder) for name, folder in folders.items()}
        return ArrowFiles(day, opened[names[0]][0], {name: _files(*opened[name]) for name in names})
    except (pa.ArrowException, OSError) as error:
        if spark is None or local_path(output) is not None:
            raise unreadable(f"the tables under {without_password(output)} cannot be opened", error) from error
        return SparkFolders(day, spark, folders)


@dataclass(frozen=True)
class ArrowFiles:
    """The files of each table on a file system that Arrow opens."""

    day: str
    store: fs.FileSystem
    files: Mapping[str, tuple[str, ...]]

    def has(self, name: str) -> bool:
        return bool(self.files[name])

    def read(self, name: str, schema: pa.Schema, written: Written | None = None) -> pa.Table:
        if written is not None:
            self._refuse_others(name, written)
        tables = []
        for file in self.files[name]:
            try:
                # ParquetFile reads this one file; read_table would look for partitions in its path
                with self.store.open_input_file(file) as opened:
                    parquet = pq.ParquetFile(opened)
                    found, metadata = parquet.schema_arrow, parquet.metadata
                    refuse_other_types(found, schema, name, self.day)
                    rows = None if written is None else written[file.rpartition("/")[2]]
                    if name == "runs" and metadata.num_rows != 1:
                        raise InputError(
                            f"the table runs of {self.day} has {metadata.num_rows} rows, not one: evaluate that day "
                            "again"
                        )
                    if (
                        rows is not None and metadata.num_rows != rows
                    ):  # checked before reading, however many rows there are
                        raise InputError(
                            f"the table {name} of {self.day} has {metadata.num_rows} rows in {file} where its run "
                            f"wrote {rows}: evaluate that day again"
                        )
                    texts = [each.name for each in schema if pa.types.is_string(each.type) and each.name in found.names]
                    parquet = pq.ParquetFile(opened, metadata=metadata, read_dictionary=texts)
                    tables.append(parquet.read([column for column in schema.names if column in found.names]))
            except FileNotFoundError:
                raise InputError(f"{self.day} was evaluated again while it was read: merge once more") from None
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                failure = f"the table {name} of {self.day} cannot be read from {file}"
                raise unreadable(failure, error, advice=" (evaluate that day again)") from error
            refuse_no_utf8(tables[-1], name, self.day)
        columns = {tuple(table.column_names) for table in tables}
        if len(columns) > 1:
            raise InputError(f"the table {name} of {self.day} has files of different columns: evaluate that day again")
        return pa.concat_tables(tables).unify_dictionaries()

    def _refuse_others(self, name: str, written: Written) -> None:
        """Raise :class:`InputError` where a table's folder does not have exactly the files that the day's run wrote."""
        there = {file.rpartition("/")[2]: file for file in self.files[name]}
        if others := sorted(there.keys() - written.keys()):
            raise InputError(
                f"the table {name} of {self.day} holds a file that its run did not write ({there[others[0]]}): remove "
                f"it, or evaluate that day again"
            )
        if lost := sorted(written.keys() - there.keys()):
            raise InputError(f"the table {name} of {self.day} has lost its file {lost[0]}: evaluate that day again")


@dataclass(frozen=True)
class SparkFolders:
    """The folder of each table on a file system that Spark opens. Reading takes a small job for each day and table."""

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

    def read(self, name: str, schema: pa.Schema, written: Written | None = None) -> pa.Table:  # noqa: ARG002 - None
        with self._reading_errors(name):
            frame = self.spark.read.parquet(self.folders[name])
            rows = frame.select([column for column in schema.names if column in frame.columns]).toArrow()
        refuse_other_types(rows.schema, schema, name, self.day)
        for index, column in enumerate(rows.column_names):
            if pa.types.is_string(schema.field(column).type):
                rows = rows.set_column(index, column, rows[column].dictionary_encode())
        refuse_no_utf8(rows, name, self.day)
        return rows.unify_dictionaries()

    def _reading_errors(self, name: str) -> AbstractContextManager[None]:
        return reading_errors(self.folders[name], f"table {name}", f"table {name} of {self.day}")


def _files(store: fs.FileSystem, folder: str) -> tuple[str, ...]:
    try:
        return tuple(visible_files(store, folder, folder.count("/") + 1))
    except NotADirectoryError:
        return ()
