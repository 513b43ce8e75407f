"""Updates of the copies of a stored day: all tables not yet copied from the day's run, with ``runs`` last."""

from __future__ import annotations

from collections.abc import Collection

from sparkrank.base.errors import SparkrankError, SpecError, StoreError, itemize
from sparkrank.schemas.tables import RUNS
from sparkrank.tables.copies.catalog_copies import CatalogCopies
from sparkrank.tables.copies.delta_copies import DeltaCopies
from sparkrank.tables.copies.iceberg_copies import IcebergCopies
from sparkrank.tables.copies.publisher import CopiedRun, Publisher, TableCopy
from sparkrank.tables.rows.outputs import written_tables
from sparkrank.tables.stored.day_files import ArrowFiles

# By the values of ``format`` under ``output.publish`` in a spec.
PUBLISHERS: dict[str, type[Publisher]] = {kind.word: kind for kind in (DeltaCopies, IcebergCopies, CatalogCopies)}


def publish_run(
    publisher: Publisher, run: CopiedRun, files: ArrowFiles, tables: Collection[str] | None = None
) -> tuple[str, ...]:
    """Copy the ``tables`` of a stored day (None: all), and return the names of the tables whose copies were outdated.

    If the run lacks a table, the copy of the table loses its rows of the day. ``runs`` is always copied, and last, so
    that a day in the copy of ``runs`` is complete. Nothing is written if a copy is refused. Raise
    :class:`SparkrankError` with the tables whose copies are still outdated.
    """
    copies = [_copy(run, files, name) for name in tables_in_order(tables)]
    behind, failure = _behind(publisher, copies)
    if failure is not None:
        raise _failed(publisher, run, behind, failure)
    for index, copy in enumerate(behind):
        try:
            publisher.replace(copy)
        except SparkrankError as error:
            raise _failed(publisher, run, behind[index:], error) from error
    return tuple(copy.table for copy in behind)


def tables_in_order(tables: Collection[str] | None) -> list[str]:
    """Return the names of the ``tables`` to copy (None: all), with ``runs`` as the last."""
    last = RUNS.name
    return [*(name for name in written_tables() if name != last and (tables is None or name in tables)), last]


def _copy(run: CopiedRun, files: ArrowFiles, name: str) -> TableCopy:
    return TableCopy(run, name, files.rows(name) if files.has(name) else None)


def _behind(publisher: Publisher, copies: list[TableCopy]) -> tuple[list[TableCopy], SparkrankError | None]:
    """Return the copies that are not current, and the first reason why tables cannot be written."""
    behind: list[TableCopy] = []
    failure: SparkrankError | None = None
    for index, copy in enumerate(copies):
        try:
            behind += [] if publisher.is_current(copy) else [copy]
        except StoreError as error:  # each further table would wait as long
            return behind + copies[index:], failure or error
        except SparkrankError as error:
            behind.append(copy)
            failure = failure or error
    return behind, failure


def _failed(publisher: Publisher, run: CopiedRun, behind: list[TableCopy], error: SparkrankError) -> SparkrankError:
    tables = itemize(copy.table for copy in behind)
    later = "" if isinstance(error, SpecError) else ": sparkrank publish makes up for it"  # not for a refusal
    sentence = (
        f"{run.name} is stored, but these of its tables in {publisher.place} are behind: {tables} ({error}){later}"
    )
    return StoreError(sentence) if isinstance(error, StoreError) else SparkrankError(sentence)
