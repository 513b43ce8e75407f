"""Tables of Spark's catalogs: its own catalog, Hive's metastore, and catalogs named at the start of a table's name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparkrank.base.errors import InputError, NoInputError, did_you_mean, itemize, shorten
from sparkrank.engines.spark.failures import reading_errors
from sparkrank.engines.spark.session_features import setting
from sparkrank.sources.side_rows import SideRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")  # a part of a name with dots: in backticks, or plain
_MOST_NEAR = 5
_CATALOG = re.compile(r"spark\.sql\.catalog\.([^.]+)")  # the setting that gives a session a catalog


def frame_of_table(side: SideRows, spark: SparkSession) -> DataFrame:
    """Return the rows of the table or view that an input names.

    Raise :class:`NoInputError` with the nearest names of the schema, or of the catalogs, if there is no such table, and
    :class:`InputError` if the schema has several tables whose names differ only by case.
    """
    table = str(side.table)
    try:
        with reading_errors(side.name, side.what, side.what):
            frame = spark.read.table(table)
            frame.schema  # noqa: B018 - Spark Connect looks for the table only here
    except InputError as error:
        condition = getattr(error.__cause__, "getCondition", lambda: None)() or ""
        if condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
            raise NoInputError(f"{error}{_nearest(spark, *_split(table))}") from error.__cause__
        # If the first part names no catalog, Spark takes it for a schema of its own catalog, which has no nested
        # schemas.
        first, known = _split(table)[0][:1], _catalogs(spark)
        if condition.startswith("REQUIRES_SINGLE_PART_NAMESPACE") and first and first[0] not in known:
            lacking = f"as there is no catalog {shorten(first[0])}{did_you_mean(first[0], known)}"
            raise NoInputError(f"there is no {side.what} at {side.name}, {lacking}") from error.__cause__
        raise
    if setting(spark, "spark.sql.caseSensitive") != "true" and len(alike := _alike(spark, *_split(table))) > 1:
        raise InputError(
            f"{side.what}.table is {shorten(table)}, but its schema has {itemize(alike)}, which differ only by case: "
            "rename one, or set spark.sql.caseSensitive to true"
        )
    return frame


def is_bucketed(spark: SparkSession, table: str, group: Sequence[str]) -> bool:
    """Return whether Spark or Hive put the rows of ``table`` into files by the hash of columns of ``group`` alone."""
    described = {row[0]: row[1] for row in _rows(spark, f"DESCRIBE EXTENDED {table}")}
    columns = {quoted for quoted, _ in _PART.findall(described.get("Bucket Columns", "")) if quoted}
    return bool(columns) and columns.issubset(group)


def _split(table: str) -> tuple[list[str], str]:
    """Return the parts of a table's name: those of its schema (perhaps none), and the last one."""
    parts = [quoted.replace("``", "`") or plain.strip() for quoted, plain in _PART.findall(table)]
    return parts[:-1], parts[-1]


def _alike(spark: SparkSession, schema: Sequence[str], name: str) -> list[str]:
    """Return the tables whose names differ from ``name`` at most by case; empty if a temporary view hides them."""
    # Without a pattern a metastore lists all tables. Characters other than these are not literal in a pattern.
    like = f" LIKE '{name}'" if re.fullmatch(r"\w+", name) else ""
    found = [row for row in _listed(spark, "TABLES", schema, like) if row[1].lower() == name.lower()]
    tables = [table for space, table, _ in found if space]
    return tables if schema or len(tables) == len(found) else []


def _nearest(spark: SparkSession, schema: Sequence[str], name: str) -> str:
    """Return the end of the message about a missing table, with the nearest names in its schema."""
    where = ".".join(schema) or "the current schema"
    tables = [table for space, table, _ in _listed(spark, "TABLES", schema) if space or not schema]
    if not tables and schema:
        schemas = [row[0] for row in _listed(spark, "SCHEMAS", schema[:-1])]
        if schema[-1].lower() not in map(str.lower, schemas):
            return f", as there is no schema {shorten(where)}{did_you_mean(schema[-1], schemas)}"
    alike = difflib.get_close_matches(name.lower(), map(str.lower, tables), _MOST_NEAR)
    return f" ({shorten(where)} has {itemize([own for own in tables if own.lower() in alike] or tables or ['none'])})"


def _catalogs(spark: SparkSession) -> list[str]:
    """Return the names of the catalogs of the session. SHOW CATALOGS lists only those that were used before."""
    settings = (_CATALOG.fullmatch(row[0]) for row in _rows(spark, "SET"))
    shown = [row[0] for row in _rows(spark, "SHOW CATALOGS")]
    return sorted({*shown, *(match[1] for match in settings if match is not None)})


def _listed(spark: SparkSession, what: str, within: Sequence[str], like: str = "") -> list[tuple[str, ...]]:
    """Return the rows of SHOW TABLES or SHOW SCHEMAS; empty if Spark lists nothing.

    Temporary views are in every list of tables, without a schema.
    """
    # spark.catalog.listTables would load each table to describe it
    place = ".".join("`{}`".format(part.replace("`", "``")) for part in within)
    return _rows(spark, f"SHOW {what}{f' IN {place}' if place else ''}{like}")


def _rows(spark: SparkSession, statement: str) -> list[tuple[str, ...]]:
    try:
        return [tuple(row) for row in spark.sql(statement).collect()]
    except Exception:  # noqa: BLE001 - there is no such schema, its catalog lists nothing, or it may not be asked
        return []
