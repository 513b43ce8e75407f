"""Copies of stored days in Iceberg tables. The library pyiceberg writes them without Spark."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from sparkrank.base.errors import MOST_LISTED, StoreError, first_line, shorten
from sparkrank.inputs.window import WINDOW, WINDOWS
from sparkrank.sources.arrow_scan import gathered
from sparkrank.sources.iceberg_metadata import ask_catalog, plan_scan
from sparkrank.sources.types import stored_type
from sparkrank.tables.commit.output_folder import DAY
from sparkrank.tables.copies.publisher import TABLE_PROPERTY, ExistingTable, Publisher, TableCopy

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table

_ROWS = 1 << 20  # rows of a data file, which is made in memory
_KEEPS_ROWS = "replace"  # the operation of a snapshot that only rearranges files


@dataclass(frozen=True)
class IcebergCopies(Publisher):
    """Iceberg tables in a ``namespace`` of a ``catalog`` that the configuration of pyiceberg defines.

    The names of tables of windows begin with ``windows_``, because some catalogs do not allow nested namespaces.
    """

    word: ClassVar[str] = "iceberg"
    library: ClassVar[str] = "pyiceberg"
    keys: ClassVar[tuple[str, ...]] = ("catalog", "namespace")

    catalog: str
    namespace: str

    @property
    def place(self) -> str:
        return f"{self.catalog}.{self.namespace}"

    def shown(self, table: str, column: str) -> str:
        return f"the Iceberg table {shorten(self.catalog)}.{shorten('.'.join(self._name(table, column)))}"

    def validate(self, table: str, schema: pa.Schema, column: str) -> None:
        self._opened(table, schema, column)

    def is_current(self, copy: TableCopy) -> bool:
        opened = self._opened(copy.table, copy.schema, copy.run.column)
        if opened is None:
            return copy.rows is None
        with self._errors(copy.table, copy.run.column, "read"):
            if copy.rows is None:
                scan = opened.scan(row_filter=_of_the_day(copy))
                return not plan_scan(opened, self.catalog, lambda: list(scan.plan_files()))
            return _is_newest(opened, copy)

    def write(self, copy: TableCopy) -> bool:
        from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError, ValidationException

        opened = self._opened(copy.table, copy.schema, copy.run.column)
        try:
            with self._errors(copy.table, copy.run.column, "written"):
                made = ask_catalog(self.catalog, lambda: self._created(copy)) if opened is None else opened
                _commit(made, copy)
        except (CommitFailedException, TableAlreadyExistsError, ValidationException):
            return False
        return True

    def _opened(self, table: str, schema: pa.Schema, column: str) -> Table | None:
        """Load the copy of ``table`` from the catalog, after the checks of :meth:`validate`; None if there is none."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            with self._errors(table, column, "read"):
                name = self._name(table, column)
                opened: Table = ask_catalog(self.catalog, lambda: self._loaded.load_table(name))
        except (NoSuchNamespaceError, NoSuchTableError):
            return None
        names = {field.field_id: field.name for field in opened.schema().fields}
        partitions = [f"{field.transform}({names.get(field.source_id)})" for field in opened.spec().fields]
        partitions = [text.removeprefix("identity(").removesuffix(")") for text in partitions]
        types = {field.name: _type_text(field.type) for field in opened.schema().as_arrow()}
        existing = ExistingTable(opened.properties.get(TABLE_PROPERTY), partitions, types)
        given = {field.name: _type_text(field.type) for field in schema}
        existing.validate(self.shown(table, column), table, column, given)
        return opened

    def _created(self, copy: TableCopy) -> Table:
        catalog, name = self._loaded, self._name(copy.table, copy.run.column)
        catalog.create_namespace_if_not_exists(self.namespace)
        own = {TABLE_PROPERTY: copy.table}
        with (
            catalog.create_table_transaction(name, schema=copy.schema, properties=own) as transaction,
            transaction.update_spec() as spec,
        ):
            spec.add_identity(copy.run.column)
        loaded: Table = catalog.load_table(name)
        return loaded

    @cached_property
    def _loaded(self) -> Any:
        """The catalog. It is loaded once, because some catalogs get their settings from a server."""
        from pyiceberg.catalog import load_catalog

        return load_catalog(self.catalog)

    def _name(self, table: str, column: str) -> tuple[str, ...]:
        return (*self.namespace.split("."), f"{WINDOWS}_{table}" if column == WINDOW else table)

    @contextmanager
    def _errors(self, table: str, column: str, done: str) -> Iterator[None]:
        """Raise errors of the library as :class:`StoreError`, except those that callers expect."""
        from pyiceberg import exceptions

        try:
            yield
        except (
            exceptions.CommitFailedException,
            exceptions.NoSuchNamespaceError,
            exceptions.NoSuchTableError,
            exceptions.TableAlreadyExistsError,
            exceptions.ValidationException,
        ):
            raise
        except Exception as error:  # each catalog raises the errors of its own library
            reason = shorten(first_line(error), MOST_LISTED)
            raise StoreError(f"{self.shown(table, column)} cannot be {done}: {reason}") from error


def _commit(opened: Table, copy: TableCopy) -> None:
    how: Any = {"snapshot_properties": copy.run.metadata}
    transaction = opened.transaction()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Delete operation did not match any records")
        transaction.delete(_of_the_day(copy), **how)
    if copy.rows is not None:
        with transaction.update_schema() as columns:  # a new release may add columns
            columns.union_by_name(copy.schema)
        is_empty = True
        for rows in gathered(copy.reader(), _ROWS):
            transaction.append(rows, **how)
            is_empty = False
        if is_empty:
            transaction.append(copy.schema.empty_table(), **how)
    ask_catalog(str(opened.catalog.name), transaction.commit_transaction)


def _of_the_day(copy: TableCopy) -> BooleanExpression:
    from pyiceberg import expressions

    made: Any = expressions  # the constructor takes name and value by position, which its types do not say
    name = copy.run.name
    condition: BooleanExpression = made.EqualTo(
        copy.run.column, dt.date.fromisoformat(name) if copy.run.column == DAY else name
    )
    return condition


def _is_newest(opened: Table, copy: TableCopy) -> bool:
    """Return whether the newest snapshot that may have changed the day belongs to the run of ``copy``."""
    snapshot = opened.current_snapshot()
    while snapshot is not None and snapshot.summary is not None:
        own = snapshot.summary.additional_properties
        name = own.get(f"sparkrank.{copy.run.column}")
        if name == copy.run.name:
            return bool(copy.run.metadata.items() <= own.items())
        if name is None and snapshot.summary.operation.value != _KEEPS_ROWS:
            return False
        before = snapshot.parent_snapshot_id
        snapshot = None if before is None else opened.snapshot_by_id(before)
    return False


def _type_text(kind: pa.DataType) -> str:
    kind = stored_type(kind)
    return str(pa.int32() if kind in {pa.int8(), pa.int16()} else kind)  # Iceberg has no smaller integers
