"""The access to the files of stored days. Each file is checked against the run's list before a row is used.

Arrow opens the files, or Spark if only Spark knows the file system. The table ``runs`` lists the files of a run. A file
that this process reads must have the listed SHA-256 checksum. Its computation takes 0.07 s for each 100 MB, about as
long as reading all columns. If Spark reads a file, or the file has no checksum, its numbers of rows and bytes must
match.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs

from sparkrank.base.errors import InputError, unreadable
from sparkrank.engines.spark.failures import reading_errors
from sparkrank.schemas.tables import ACCEPTED, FILES, RUN_ID, RUNS, TIME
from sparkrank.sources.files import file_system, visible_files, without_password
from sparkrank.sources.integrity import CHECKED, SPARK_CHECKED
from sparkrank.tables.commit.days import local_path, run_folders, shown_run, table_folders
from sparkrank.tables.commit.output_folder import DAY, PLAIN
from sparkrank.tables.stored.validation import ADVICE, validate_column_types, validate_run, validate_utf8

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession


_LOOKS = 5  # at most, to list the same folders twice while a run may move them (sparkrank.tables.commit.plain_folders)
_PIECE = 1 << 20  # bytes hashed at a time
_RUN = pa.schema(
    [
        RUNS.schema.field(name)
        for name in (RUN_ID, "status", "started_at", FILES.name, *(column.name for column in ACCEPTED))
    ]
)


class WrittenFile(NamedTuple):
    """The rows, bytes and SHA-256 of a file when the run wrote it. Earlier releases recorded only the rows."""

    rows: int
    bytes: int | None = None
    checksum: str | None = None


Written: TypeAlias = "Mapping[str, WrittenFile]"  # the files of a table, by name


@dataclass(frozen=True)
class DayFiles(ABC):
    """The stored tables of one day. ``is_committed`` is true if a link or a manifest names the run of the day."""

    day: str
    is_committed: bool = field(default=False, kw_only=True)

    def has(self, name: str) -> bool:
        """Return whether the day has the table ``name``. Raise :class:`InputError` if it is unreadable or lost."""
        is_there = self._is_there(name)
        if not is_there and (lost := sorted(self._written(name) or ())):
            raise self._lost(name, lost[0])
        return is_there

    @abstractmethod
    def read(self, name: str, schema: pa.Schema) -> pa.Table:
        """Read those columns of ``schema`` that exist in the table ``name``, with dictionary-encoded strings.

        Raise :class:`InputError` if files cannot be read or have changed, and :class:`StoreError` if the store fails.
        """

    @abstractmethod
    def rows(self, name: str, dictionaries: Sequence[str] = ()) -> ds.Dataset | DataFrame:
        """Open the table ``name`` for reading in batches. Raise the same errors as :meth:`read`.

        Arrow dictionary-encodes the columns ``dictionaries``; Spark ignores this argument.
        """

    @abstractmethod
    def validate(self, name: str) -> None:
        """Raise :class:`InputError` if the files of the table ``name`` are not those that the day's run wrote."""

    @cached_property
    def run(self) -> dict[str, Any]:
        """The ID, status, start, files and acceptance of the day's run. Raise the same errors as :meth:`run_row`."""
        run = self.run_row(_RUN)
        if self.is_committed and run.get(FILES.name, []) is None:
            raise InputError(f"the table runs of {self.day} has lost its list of files: {ADVICE}")
        validate_run(run, [], self.day)
        return run

    @property
    def identity(self) -> dict[str, str]:
        """The day with its run's ID and start, as in ``day_runs`` of a window. An acceptance leaves these unchanged."""
        return {"day": self.day, **{name: str(self.run.get(name)) for name in (RUN_ID, "started_at")}}

    def run_row(self, schema: pa.Schema) -> dict[str, Any]:
        """Read the columns of ``schema`` from ``runs``. Raise :class:`InputError` unless there is exactly one row."""
        if not self._is_there("runs"):
            raise InputError(f"{self.day} has lost its table runs: {ADVICE}")
        runs = _in_utc(self.read("runs", schema))
        if runs.num_rows != 1:
            raise InputError(f"the table runs of {self.day} has {runs.num_rows} rows, not one: {ADVICE}")
        row: dict[str, Any] = runs.to_pylist()[0]
        return row

    @abstractmethod
    def _is_there(self, name: str) -> bool:
        """Return whether the day has files of the table ``name``."""

    def _written(self, name: str) -> Written | None:
        """Return the files of the table ``name`` that the run listed in ``runs``; None if the run listed no files."""
        if name == "runs" or not (self.is_committed or self._is_there("runs")):
            return None
        return None if self._listed is None else self._listed.get(name, {})

    @cached_property
    def _listed(self) -> Mapping[str, Written] | None:
        listed: dict[str, dict[str, WrittenFile]] = {}
        if self.run.get(FILES.name) is None:
            return None
        for file in self.run[FILES.name]:
            of_table = listed.setdefault(file["table"], {})
            of_table[file["name"]] = WrittenFile(file["rows"], file.get("bytes"), file.get("checksum"))
        return listed

    def _validate_names(self, name: str, written: Written, there: Mapping[str, str]) -> None:
        """Raise :class:`InputError` unless ``there``, which maps names to paths, has the file names of ``written``."""
        if others := sorted(there.keys() - written.keys()):
            raise InputError(
                f"the table {name} of {self.day} has a file that its run did not write ({there[others[0]]}): remove "
                f"it, or {ADVICE}"
            )
        if lost := sorted(written.keys() - there.keys()):
            raise self._lost(name, lost[0])

    def _lost(self, name: str, file: str) -> InputError:
        return InputError(f"the table {name} of {self.day} has lost its file {file}: {ADVICE}")

    def _validate_size(self, name: str, file: str, size: int, unit: str, written: int | None) -> None:
        if written is not None and size != written:
            raise InputError(
                f"the table {name} of {self.day} has {size} {unit} in {file} where its run wrote {written}: {ADVICE}"
            )


def day_files(output: str, day: str, names: Sequence[str], spark: SparkSession | None, column: str = DAY) -> DayFiles:
    """Find the files of the tables ``names`` of ``day`` under ``output``.

    If a link or a manifest names the run of the day, all files are from one run. Raise :class:`InputError` if the
    file system cannot be opened, and :class:`StoreError` if the store fails.
    """
    names = sorted({*names, "runs"})
    try:
        files = _of_run(output, day, names, column)
        for _ in range(_LOOKS - 1):
            shown = shown_run(output, day, column)
            if shown is None or not (shown / PLAIN).exists():
                break
            before, files = files, _of_run(output, day, names, column)
            if files == before:
                break
        return files
    except (pa.ArrowException, OSError) as error:
        if spark is None or local_path(output) is not None:
            raise unreadable(f"the tables under {without_password(output)} cannot be opened", error) from error
        return SparkFolders(day, spark, table_folders(output, day, names, column))


def whole_day(
    output: str, day: str, spark: SparkSession | None = None, column: str = DAY, tables: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Check all files of a stored ``day``, and return their entries in ``runs`` (an empty list if ``runs`` lists none).

    Raise :class:`InputError` if a file is lost or changed, or if a listed table or one of ``tables`` has extra files.
    """
    listed = day_files(output, day, (), spark, column).run.get(FILES.name) or []
    names = sorted({*tables, *(file["table"] for file in listed)})
    files = day_files(output, day, names, spark, column)
    for name in names:
        files.validate(name)
    return files.run.get(FILES.name) or []


def files_of_run(folder: str, day: str, names: Sequence[str]) -> ArrowFiles:
    """Find the files of the tables ``names`` that a run of ``day`` has written to ``folder`` but not yet committed.

    The files are not checked, because this process wrote them and no table ``runs`` lists them yet.
    """
    names = [name for name in names if name != "runs"]
    return _opened(day, {name: f"{folder}/{name}" for name in names})


@dataclass(frozen=True)
class ArrowFiles(DayFiles):
    """The files of each table on a file system that Arrow opens."""

    store: fs.FileSystem
    files: Mapping[str, tuple[str, ...]]

    def read(self, name: str, schema: pa.Schema) -> pa.Table:
        tables = []
        for file, written in self._files(name):
            with self._reading(name, file):
                tables.append(self._table(name, schema, file, written))
            validate_utf8(tables[-1], name, self.day)
        columns = {tuple(table.column_names) for table in tables}
        if len(columns) > 1:
            raise InputError(f"the table {name} of {self.day} has files of different columns: {ADVICE}")
        return pa.concat_tables(tables).unify_dictionaries()

    def rows(self, name: str, dictionaries: Sequence[str] = ()) -> ds.Dataset:
        self.validate(name)
        reader = ds.ParquetFileFormat(dictionary_columns=set(dictionaries), **CHECKED)
        with self._reading(name, self.files[name][0]):
            return ds.dataset(list(self.files[name]), filesystem=self.store, format=reader)

    def validate(self, name: str) -> None:
        for file, written in self._files(name):
            if written is None:
                continue
            with self._reading(name, file), self.store.open_input_file(file) as opened:
                self._validate_size(name, file, opened.size(), "bytes", written.bytes)
                if written.checksum is None:
                    self._validate_size(name, file, pq.read_metadata(opened).num_rows, "rows", written.rows)
                    continue
                digest = hashlib.sha256()
                while piece := opened.read(_PIECE):
                    digest.update(piece)
                self._validate_checksum(name, file, digest.hexdigest(), written.checksum)

    def _is_there(self, name: str) -> bool:
        return bool(self.files.get(name))

    def _files(self, name: str) -> list[tuple[str, WrittenFile | None]]:
        """Return each file of a table with the run's entry for that file, or with None if the run listed no files."""
        there = {file.rpartition("/")[2]: file for file in self.files[name]}
        written = self._written(name)
        if written is not None:
            self._validate_names(name, written, there)
        return [(file, None if written is None else written[base]) for base, file in there.items()]

    @contextmanager
    def _reading(self, name: str, file: str) -> Iterator[None]:
        """Turn an error about a file of the table ``name`` into an :class:`InputError` that names the day."""
        try:
            yield
        except FileNotFoundError:
            raise InputError(f"{self.day} was evaluated again while it was read: merge once more") from None
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            failure = f"the table {name} of {self.day} cannot be read from {file}"
            raise unreadable(failure, error, advice=f" ({ADVICE})") from error

    def _table(self, name: str, schema: pa.Schema, file: str, written: WrittenFile | None) -> pa.Table:
        """Read the columns of ``schema`` from one file, which must match ``written``, the run's entry for the file."""
        with self.store.open_input_file(file) as opened:
            source = opened if written is None else self._same_bytes(name, file, opened, written)
            # ParquetFile reads only this file; read_table would look for partitions in its path.
            parquet = pq.ParquetFile(source, page_checksum_verification=True)
            columns, metadata = parquet.schema_arrow, parquet.metadata
            validate_column_types(columns, schema, name, self.day)
            if name == "runs" and metadata.num_rows != 1:
                raise InputError(f"the table runs of {self.day} has {metadata.num_rows} rows, not one: {ADVICE}")
            if written is not None:  # before any row is read
                self._validate_size(name, file, metadata.num_rows, "rows", written.rows)
            texts = [field.name for field in schema if pa.types.is_string(field.type) and field.name in columns.names]
            parquet = pq.ParquetFile(source, metadata=metadata, read_dictionary=texts, page_checksum_verification=True)
            return parquet.read([column for column in schema.names if column in columns.names])

    def _same_bytes(
        self, name: str, file: str, opened: pa.NativeFile, written: WrittenFile
    ) -> pa.NativeFile | pa.BufferReader:
        """Return a reader of the bytes of ``opened``, after checking that the run wrote the same bytes."""
        self._validate_size(name, file, opened.size(), "bytes", written.bytes)
        if written.checksum is None:
            return opened
        content = opened.read_buffer()
        self._validate_checksum(name, file, hashlib.sha256(content).hexdigest(), written.checksum)
        return pa.BufferReader(content)

    def _validate_checksum(self, name: str, file: str, checksum: str, written: str) -> None:
        if checksum != written:
            raise InputError(f"the table {name} of {self.day} has other bytes in {file} than its run wrote: {ADVICE}")


@dataclass(frozen=True)
class SparkFolders(DayFiles):
    """The folder of each table on a file system that only Spark opens. Each read of a table runs small Spark jobs."""

    spark: SparkSession
    folders: Mapping[str, str]

    def read(self, name: str, schema: pa.Schema) -> pa.Table:
        frame = self.rows(name)
        with self._reading_errors(name):
            rows = frame.select([column for column in schema.names if column in frame.columns]).toArrow()
        validate_column_types(rows.schema, schema, name, self.day)
        for index, column in enumerate(rows.column_names):
            if pa.types.is_string(schema.field(column).type):
                rows = rows.set_column(index, column, rows[column].dictionary_encode())
        validate_utf8(rows, name, self.day)
        return rows.unify_dictionaries()

    def rows(self, name: str, dictionaries: Sequence[str] = ()) -> DataFrame:  # noqa: ARG002 - Spark has none
        self.validate(name)
        with self._reading_errors(name):
            return self._frame(name)

    def validate(self, name: str) -> None:
        written = self._written(name)
        if written is None:
            return
        with self._reading_errors(name):  # no column is read: Spark counts the rows in the footers
            files = self._frame(name).groupBy("_metadata.file_path", "_metadata.file_name", "_metadata.file_size")
            there = {base: (path, size, rows) for path, base, size, rows in files.count().collect()}
        with_rows = {base: file for base, file in written.items() if file.rows or base in there}
        self._validate_names(name, with_rows, {base: path for base, (path, _, _) in there.items()})
        for base, (path, size, rows) in there.items():
            self._validate_size(name, path, size, "bytes", written[base].bytes)
            self._validate_size(name, path, rows, "rows", written[base].rows)

    def _frame(self, name: str) -> DataFrame:
        return self.spark.read.options(**SPARK_CHECKED).parquet(self.folders[name])

    def _is_there(self, name: str) -> bool:
        from pyspark.errors import AnalysisException

        with self._reading_errors(name):
            try:
                return bool(self._frame(name).columns)
            except AnalysisException as error:
                if (error.getCondition() or "").startswith(("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA")):
                    return False
                raise

    def _reading_errors(self, name: str) -> AbstractContextManager[None]:
        return reading_errors(self.folders[name], f"table {name}", f"table {name} of {self.day}")


def _of_run(output: str, day: str, names: Sequence[str], column: str) -> ArrowFiles:
    """Find the files of the run that a link or a manifest names; if neither does, those in each table's partition."""
    folders = run_folders(output, day, names, column)
    is_committed = shown_run(output, day, column) is not None or folders != table_folders(output, day, names, column)
    return _opened(day, folders, is_committed=is_committed)


def _opened(day: str, folders: Mapping[str, str], *, is_committed: bool = False) -> ArrowFiles:
    opened = {name: file_system(folder) for name, folder in folders.items()}
    (store, _), *_ = opened.values()
    files = {name: _files(*place) for name, place in opened.items()}
    return ArrowFiles(day, store, files, is_committed=is_committed)


def _files(store: fs.FileSystem, folder: str) -> tuple[str, ...]:
    try:
        return tuple(visible_files(store, folder, folder.count("/") + 1))
    except NotADirectoryError:
        return ()


def _in_utc(table: pa.Table) -> pa.Table:
    """Convert all timestamps of ``table`` to UTC in microseconds. A timestamp without a time zone is taken as UTC."""
    for index, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type):
            instants = table[column.name].cast(pa.timestamp("us", column.type.tz))
            instants = instants.cast(TIME) if column.type.tz else pc.assume_timezone(instants, "UTC")
            table = table.set_column(index, column.name, instants)
    return table
