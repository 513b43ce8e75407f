"""Copies of stored days in tables of Spark's catalogs. A Spark session writes the copies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.dataset as ds

from sparkrank.base.errors import MOST_LISTED, SparkrankError, SpecError, StoreError, shorten
from sparkrank.engines.spark.failures import reason_of, task_errors
from sparkrank.engines.spark.session_features import Batches, packed_once, setting_as
from sparkrank.inputs.window import WINDOW, WINDOWS
from sparkrank.sources.types import plain_schema
from sparkrank.tables.commit.output_folder import DAY
from sparkrank.tables.copies.publisher import TABLE_PROPERTY, ExistingTable, Publisher, TableCopy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType

_OVERWRITE = "spark.sql.sources.partitionOverwriteMode"
_NO_CATALOG = "REQUIRES_SINGLE_PART_NAMESPACE"  # Spark's own catalog, if no catalog has the name


@dataclass(frozen=True)
class CatalogCopies(Publisher):
    """Tables in a ``schema`` of a catalog of Spark: its own, Hive's metastore, or another catalog of the session.

    The names of tables of windows begin with ``windows_``.
    """

    word: ClassVar[str] = "catalog"
    library: ClassVar[str] = "pyspark"
    keys: ClassVar[tuple[str, ...]] = ("schema",)
    needs_session: ClassVar[bool] = True

    schema: str
    session: SparkSession | None = field(default=None, compare=False)

    @property
    def place(self) -> str:
        return self.schema

    def with_session(self, spark: SparkSession | None) -> CatalogCopies:
        return replace(self, session=spark)

    def shown(self, table: str, column: str) -> str:
        return f"the table {shorten(self.schema)}.{_own_name(table, column)}"

    def require_library(self) -> None:
        if self.session is None:
            raise SpecError(
                "output.publish: format: catalog is written by Spark, and there is no session: "
                "pip install 'sparkrank[spark]'"
            )

    def validate(self, table: str, schema: pa.Schema, column: str) -> None:
        self._properties(table, schema, column)

    def is_current(self, copy: TableCopy) -> bool:
        properties = self._properties(copy.table, copy.schema, copy.run.column)
        if properties is None:
            return copy.rows is None
        if copy.rows is not None:
            return properties.get(_property_of_day(copy)) == _run_text(copy)
        with self._errors(copy.table, copy.run.column, "read"):
            name = self._name(copy.table, copy.run.column)
            return self._spark.table(name).where(_of_the_day(copy)).isEmpty()

    def write(self, copy: TableCopy) -> bool:
        spark, name = self._spark, self._name(copy.table, copy.run.column)
        schema = _spark_schema(copy.schema, self.shown(copy.table, copy.run.column))
        with self._errors(copy.table, copy.run.column, "written"):
            if not spark.catalog.tableExists(name):
                writer = spark.createDataFrame([], schema).writeTo(name).partitionedBy(copy.run.column)
                writer.tableProperty(TABLE_PROPERTY, copy.table).create()
            there = spark.table(name).columns
            if added := [_definition(own) for own in schema if own.name not in there]:
                spark.sql(f"ALTER TABLE {name} ADD COLUMNS ({', '.join(added)})")  # a new release may add columns
            self._replace_rows(copy)
            spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{_property_of_day(copy)}' = '{_run_text(copy)}')")
        return True

    def _replace_rows(self, copy: TableCopy) -> None:
        from pyspark.sql import functions as F

        from sparkrank.engines.spark.batches import named

        spark, name = self._spark, self._name(copy.table, copy.run.column)
        columns = spark.table(name).schema
        is_empty = copy.rows is None or not copy.rows.count_rows()
        # Dynamic overwriting keeps the old rows until new ones are written, but a day without new rows would keep them.
        with setting_as(spark, _OVERWRITE, "static" if is_empty else "dynamic") as because:
            if because is not None:  # static overwriting would remove all days
                raise SparkrankError(f"the session does not let {_OVERWRITE} be set ({because})")
            if is_empty:
                rows = spark.createDataFrame([], columns).drop(copy.run.column)
                spark.sql(f"INSERT OVERWRITE {name} PARTITION ({_of_the_day(copy)}) TABLE {{rows}}", rows=rows)
                return
            rows = _frame_of_files(spark, copy, copy.rows)
            own = [named(c.name) if c.name in rows.columns else F.lit(None).cast(c.dataType) for c in columns]
            rows.select(*own).write.insertInto(name, overwrite=True)  # by place

    def _properties(self, table: str, schema: pa.Schema, column: str) -> dict[str, str] | None:
        """Return the properties of the copy of ``table``, after the checks of :meth:`validate`; None without a copy."""
        spark, name, what = self._spark, self._name(table, column), self.shown(table, column)
        given = {own.name: own.dataType.simpleString() for own in _spark_schema(schema, what)}
        with self._errors(table, column, "read"):
            if not spark.catalog.tableExists(name):
                if spark.catalog.databaseExists(self._quoted):
                    return None
                raise SpecError(self._lacking)
            columns = spark.catalog.listColumns(name)
            properties = {row[0]: row[1] for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}
        partitions = [own.name for own in columns if own.isPartition]
        existing = ExistingTable(
            properties.get(TABLE_PROPERTY), partitions, {own.name: own.dataType for own in columns}
        )
        existing.validate(what, table, column, given)
        return properties

    @property
    def _spark(self) -> SparkSession:
        self.require_library()
        assert self.session is not None  # noqa: S101 - as it says
        return self.session

    @property
    def _lacking(self) -> str:
        return f"output.publish.schema is {shorten(self.schema)}, which the session's catalogs lack"

    @property
    def _quoted(self) -> str:
        return ".".join(f"`{part}`" for part in self.schema.split("."))

    def _name(self, table: str, column: str) -> str:
        return f"{self._quoted}.{_own_name(table, column)}"

    @contextmanager
    def _errors(self, table: str, column: str, done: str) -> Iterator[None]:
        """Raise errors of Spark and of its catalogs as :class:`StoreError`."""
        try:
            with task_errors(self.session):
                yield
        except SpecError:
            raise
        except Exception as error:  # each catalog has its own errors
            if _condition_of(error) == _NO_CATALOG:
                raise SpecError(self._lacking) from error
            reason = str(error) if isinstance(error, SparkrankError) else reason_of(error)
            sentence = f"{self.shown(table, column)} cannot be {done}: {shorten(reason, MOST_LISTED)}"
            raise StoreError(sentence) from error


def _condition_of(error: BaseException) -> str | None:
    """Return Spark's name of the error, or of the error that caused it."""
    raised = (getattr(own, "getCondition", lambda: None)() for own in (error, error.__cause__))
    return next(filter(None, raised), None)


def _definition(column: StructField) -> str:
    return "`{}` {}".format(column.name.replace("`", "``"), column.dataType.simpleString())


def _own_name(table: str, column: str) -> str:
    return f"{WINDOWS}_{table}" if column == WINDOW else table


def _frame_of_files(spark: SparkSession, copy: TableCopy, stored: ds.FileSystemDataset) -> DataFrame:
    """Return the ``stored`` rows in the form of ``copy``. Each task reads a file."""
    schema, files = plain_schema(copy.schema), list(stored.get_fragments())

    def rows(batches: Batches) -> Batches:
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            own = ds.FileSystemDataset([files[number]], stored.schema, stored.format, stored.filesystem)
            for batch in replace(copy, rows=own).reader():
                yield from pa.Table.from_batches([batch]).cast(schema).to_batches()

    return spark.range(0, len(files), 1, len(files)).mapInArrow(packed_once(rows), _spark_schema(schema, ""))


def _spark_schema(schema: pa.Schema, what: str) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructType

    columns = StructType()
    for own in schema:
        try:
            columns.add(own.name, from_arrow_type(own.type, prefer_timestamp_ntz=True))
        except Exception as error:
            refused = f"{what} is refused and left as it is"
            raise SpecError(
                f"{refused}: the column {shorten(own.name)} is {own.type}, which is not a type of Spark"
            ) from error
    return columns


def _of_the_day(copy: TableCopy) -> str:
    return f"{copy.run.column} = {'DATE ' if copy.run.column == DAY else ''}'{copy.run.name}'"


def _property_of_day(copy: TableCopy) -> str:
    return f"sparkrank.{copy.run.column}.{copy.run.name}"


def _run_text(copy: TableCopy) -> str:
    return json.dumps(copy.run.metadata, sort_keys=True)
