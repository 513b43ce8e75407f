"""The base class of publishers, and the copy of one table that a publisher writes.

A publisher keeps a table for each table of the output. One commit, which names the run, replaces the rows of a day. A
new kind of publisher needs a class in a module of its own, and a line in the register.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import SparkrankError, SpecError, require, shorten
from sparkrank.inputs.window import WINDOW
from sparkrank.sources.types import signed_type
from sparkrank.tables.commit.output_folder import DAY

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    from pyspark.sql import SparkSession

TRIES = 3
TABLE_PROPERTY = "sparkrank.table"  # the property of a table that says which table of the output it copies
_PARTITIONS = {DAY: pa.date32(), WINDOW: pa.string()}  # the types that readers infer from the names of folders


@dataclass(frozen=True)
class CopiedRun:
    """The run of the stored day or window ``name``, whose tables are partitioned by ``column``.

    Runs of the same spec and day share a ``run_id``, even if the input has changed between them. ``attempt_id`` differs
    between all runs, and changes when a person accepts failed gates.
    """

    name: str
    column: str
    run_id: str
    spec_hash: str
    attempt_id: str

    @property
    def metadata(self) -> dict[str, str]:
        own = {"run_id": self.run_id, "spec_hash": self.spec_hash, "attempt_id": self.attempt_id}
        return {f"sparkrank.{name}": value for name, value in {**own, self.column: self.name}.items()}


@dataclass(frozen=True)
class TableCopy:
    """The copy of the ``table`` of a run. ``rows`` is None if the run lacks the table."""

    run: CopiedRun
    table: str
    rows: ds.Dataset | None

    @property
    def schema(self) -> pa.Schema:
        """The columns of the copy. The last is the partition column."""
        return copied_schema(pa.schema([]) if self.rows is None else self.rows.schema, self.run.column)

    def reader(self) -> pa.RecordBatchReader:
        """Return a reader of all rows, as batches with the columns of :attr:`schema`."""
        assert self.rows is not None  # noqa: S101 - callers ask first
        value = dt.date.fromisoformat(self.run.name) if self.run.column == DAY else self.run.name
        columns = {field.name: pc.field(field.name).cast(lake_type(field.type)) for field in self.rows.schema}
        columns[self.run.column] = pc.scalar(pa.scalar(value, _PARTITIONS[self.run.column]))
        return self.rows.scanner(columns=columns).to_reader()


def copied_schema(stored: pa.Schema, column: str) -> pa.Schema:
    """Return the schema of the copy of a table: the columns of ``stored``, and the partition ``column``."""
    fields = [pa.field(field.name, lake_type(field.type)) for field in stored]
    return pa.schema([*fields, pa.field(column, _PARTITIONS[column])])


def lake_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column in a lake, without unsigned numbers and with timestamps in UTC and microseconds."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", None if kind.tz is None else "UTC")
    return signed_type(kind)


class Publisher(ABC):
    """A place with copies of stored days: one table for each table of the output.

    The constructor requires the values of :attr:`keys`. Every method may raise :class:`StoreError` if the place does
    not answer.
    """

    word: ClassVar[str]  # the value of ``format`` in a spec, and the extra with the library
    library: ClassVar[str]  # the module that writes the format
    keys: ClassVar[tuple[str, ...]]  # the further keys of a spec that say where the tables are
    needs_session: ClassVar[bool] = False  # whether Spark writes the tables

    @property
    @abstractmethod
    def place(self) -> str:
        """The name of the place in messages, without secrets."""

    @abstractmethod
    def shown(self, table: str, column: str) -> str:
        """Return the name of the copy of ``table`` in messages. ``column`` is the partition column: days or windows."""

    def with_session(self, spark: SparkSession | None) -> Publisher:  # noqa: ARG002 - most write without
        """Return this publisher with the session ``spark``, if it needs a session."""
        return self

    def require_library(self) -> None:
        """Raise :class:`SpecError` if the library that writes the format, or a needed session, is missing."""
        require(self.library, self.word, f"output.publish: format: {self.word}")

    @abstractmethod
    def validate(self, table: str, schema: pa.Schema, column: str) -> None:
        """Raise :class:`SpecError` if the copy of ``table`` exists, but cannot store rows of ``schema``.

        The reason may be that another program made it, that ``column`` does not partition it, or a column's type.
        """

    @abstractmethod
    def is_current(self, copy: TableCopy) -> bool:
        """Return whether the day's newest commit belongs to the run of ``copy``. Raise the errors of :meth:`validate`.

        If the run lacks the table, return whether the copy contains no rows of the day.
        """

    @abstractmethod
    def write(self, copy: TableCopy) -> bool:
        """Replace the rows of the day by those of ``copy`` in one commit. The table is made if it does not exist.

        Return False, without a commit, if another writer has changed the day since this method opened the table.
        """

    def replace(self, copy: TableCopy) -> None:
        """Write ``copy`` if it is not current, in up to :data:`TRIES` tries.

        Raise :class:`SparkrankError` if others write the same day at the same time.
        """
        for _ in range(TRIES):
            if self.is_current(copy) or self.write(copy):
                return
        raise SparkrankError(
            f"{self.shown(copy.table, copy.run.column)} was changed by another writer of {copy.run.name} at the same "
            f"time, {TRIES} times"
        )


@dataclass(frozen=True)
class ExistingTable:
    """An existing table in the place of a copy: its partition columns, and the type of each column.

    ``made_for`` names the copied table of sparkrank; None if another program made it.
    """

    made_for: str | None
    partitions: Sequence[str]
    types: Mapping[str, str]

    def validate(self, what: str, table: str, column: str, given: Mapping[str, str]) -> None:
        """Raise :class:`SpecError` unless this is a copy of ``table`` that can store columns of the types ``given``."""
        refused = f"{what} is refused and left as it is"
        if column not in self.types:
            raise SpecError(f"{refused}: it has no column {column}")
        if self.made_for != table:
            raise SpecError(f"{refused}: another program made it (its property {TABLE_PROPERTY} is not {table})")
        if list(self.partitions) != [column]:
            raise SpecError(f"{refused}: it is not partitioned by {column} only")
        alike = {name.lower(): name for name in self.types}
        for name, kind in given.items():
            if (other := alike.get(name.lower(), name)) != name and name not in self.types:
                raise SpecError(
                    f"{refused}: its column {shorten(other)} differs from {shorten(name)} of the run only by case"
                )
            if (own := self.types.get(name, kind)) != kind:
                raise SpecError(f"{refused}: its column {shorten(name)} is {own}, but in the run it is {kind}")
