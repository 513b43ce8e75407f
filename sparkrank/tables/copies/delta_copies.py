"""Copies of stored days in Delta tables. The library deltalake writes them without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from pyarrow import fs

from sparkrank.base.errors import SpecError, StoreError, shorten
from sparkrank.base.redaction import shown_url
from sparkrank.inputs.window import WINDOW, WINDOWS
from sparkrank.sources.delta_log import delta_address, reason_of_delta, table_at
from sparkrank.sources.files import file_system
from sparkrank.tables.copies.publisher import TABLE_PROPERTY, ExistingTable, Publisher, TableCopy

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.schema import Field as DeltaField

_LOG = "_delta_log"
_KEEP_ROWS = frozenset(("OPTIMIZE", "VACUUM START", "VACUUM END"))  # operations of other programs that change no rows


@dataclass(frozen=True)
class DeltaCopies(Publisher):
    """Delta tables in the folder ``path``. Tables of windows are in its subfolder ``windows``."""

    word: ClassVar[str] = "delta"
    library: ClassVar[str] = "deltalake"
    keys: ClassVar[tuple[str, ...]] = ("path",)

    path: str

    @property
    def place(self) -> str:
        return shown_url(self.path)

    def shown(self, table: str, column: str) -> str:
        return f"the Delta table {shorten(shown_url(self._path(table, column)))}"

    def validate(self, table: str, schema: pa.Schema, column: str) -> None:
        self._opened(table, schema, column)

    def is_current(self, copy: TableCopy) -> bool:
        opened = self._opened(copy.table, copy.schema, copy.run.column)
        if opened is None:
            return copy.rows is None
        with self._errors(copy.table, copy.run.column, "read"):
            return not _has_files(opened, copy) if copy.rows is None else _is_newest(opened, copy)

    def write(self, copy: TableCopy) -> bool:
        from deltalake.exceptions import CommitFailedError

        opened = self._opened(copy.table, copy.schema, copy.run.column) or self._created(copy)
        if opened is None:
            return False
        try:
            with self._errors(copy.table, copy.run.column, "written"):
                _commit(opened, copy)
        except CommitFailedError:
            return False
        return True

    def _opened(self, table: str, schema: pa.Schema, column: str) -> DeltaTable | None:
        """Open the newest version of the copy of ``table`` (None if missing), after the checks of :meth:`validate`."""
        from deltalake.exceptions import TableNotFoundError

        what = self.shown(table, column)
        given = {field.name: _type_text(_delta_field(field, what)) for field in schema}
        try:
            with self._errors(table, column, "read"):
                opened = table_at(self._path(table, column))
        except TableNotFoundError:
            self._validate_empty(table, column)
            return None
        about, types = opened.metadata(), {field.name: _type_text(field) for field in opened.schema().fields}
        existing = ExistingTable(about.configuration.get(TABLE_PROPERTY), about.partition_columns, types)
        existing.validate(what, table, column, given)
        return opened

    def _validate_empty(self, table: str, column: str) -> None:
        """Raise :class:`SpecError` if the folder of a new copy has files of another program."""
        try:
            store, folder = file_system(self._path(table, column))
            there = store.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        except (pa.ArrowException, OSError):  # deltalake supports stores that Arrow does not
            return
        if strange := sorted(info.base_name for info in there if info.base_name != _LOG):
            what = f"{self.shown(table, column)} is refused and left as it is"
            raise SpecError(f"{what}: its folder has {shorten(strange[0])}, but it is not a Delta table")

    def _created(self, copy: TableCopy) -> DeltaTable | None:
        """Make a table without rows; return None if another writer has made it since."""
        from deltalake import DeltaTable, Schema

        column = copy.run.column
        address, options = delta_address(self._path(copy.table, column))
        try:
            with self._errors(copy.table, column, "made"):
                return DeltaTable.create(
                    address,
                    Schema.from_arrow(copy.schema),
                    partition_by=[column],
                    configuration={TABLE_PROPERTY: copy.table},
                    storage_options=options,
                    raise_if_key_not_exists=False,  # the format does not know our own property
                )
        except StoreError:
            if self._opened(copy.table, copy.schema, column) is None:
                raise
            return None

    @contextmanager
    def _errors(self, table: str, column: str, done: str) -> Iterator[None]:
        """Raise errors of the library as :class:`StoreError`, except those that callers expect."""
        from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

        try:
            yield
        except (CommitFailedError, TableNotFoundError):
            raise
        except (DeltaError, OSError, pa.ArrowException) as error:
            raise StoreError(f"{self.shown(table, column)} cannot be {done}: {reason_of_delta(error)}") from error

    def _path(self, table: str, column: str) -> str:
        place, mark, settings = self.path.partition("?")
        folder = f"{place.rstrip('/')}/{WINDOWS}" if column == WINDOW else place.rstrip("/")
        return f"{folder}/{table}{mark}{settings}"


def _commit(opened: DeltaTable, copy: TableCopy) -> None:
    from deltalake import CommitProperties, write_deltalake

    condition = f"{copy.run.column} = '{copy.run.name}'"
    commit = CommitProperties(custom_metadata=copy.run.metadata)
    if copy.rows is None:
        opened.delete(condition, commit_properties=commit)
        return
    write_deltalake(
        opened,
        copy.reader(),
        mode="overwrite",
        predicate=condition,
        schema_mode="merge",  # new releases may add columns, which days of earlier releases lack
        commit_properties=commit,
    )


def _is_newest(opened: DeltaTable, copy: TableCopy) -> bool:
    """Return whether the newest commit that may have changed the day belongs to the run of ``copy``."""
    for commit in opened.history():
        name = commit.get(f"sparkrank.{copy.run.column}")
        if name == copy.run.name:
            return copy.run.metadata.items() <= commit.items()
        if name is None and commit["operation"] not in _KEEP_ROWS:
            return False
    return False


def _has_files(opened: DeltaTable, copy: TableCopy) -> bool:
    files = pa.table(opened.get_add_actions(flatten=True))
    return copy.run.name in map(str, files[f"partition.{copy.run.column}"].to_pylist())


def _delta_field(field: pa.Field, what: str) -> DeltaField:
    from deltalake import Schema

    try:
        return Schema.from_arrow(pa.schema([field])).fields[0]
    except Exception as error:
        refused = f"{what} is refused and left as it is"
        raise SpecError(
            f"{refused}: the column {shorten(field.name)} is {field.type}, which Delta does not have"
        ) from error


def _type_text(field: DeltaField) -> str:
    return str(getattr(field.type, "type", field.type))
