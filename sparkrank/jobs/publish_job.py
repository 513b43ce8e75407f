"""The copies of stored days and windows in other places, and their updates to the current runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.base.errors import InputError, SparkrankError, SpecError, StoreError, shorten
from sparkrank.inputs.window import WINDOW
from sparkrank.jobs.target import Target
from sparkrank.results.run_results import PublishedDay
from sparkrank.schemas.tables import ATTEMPT_ID, BLOCKS, GROUPS, PARTS, RUN_ID, RUNS, WINDOW_RUNS
from sparkrank.tables.commit.days import needs_spark
from sparkrank.tables.commit.output_folder import DAY
from sparkrank.tables.copies.day_copies import publish_run, tables_in_order
from sparkrank.tables.copies.publisher import CopiedRun, copied_schema
from sparkrank.tables.rows.outputs import OUTPUTS, written_tables
from sparkrank.tables.stored.day_files import ArrowFiles, day_files
from sparkrank.tables.stored.stored_results import whole_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec

_BY_INPUT = (GROUPS.name, BLOCKS.name, PARTS.name)  # tables whose columns or types depend on the input


def validate_publish(
    spec: Spec, spark: SparkSession | None = None, column: str = DAY, *, needs_answer: bool = False
) -> None:
    """Raise :class:`SpecError`, before any table is read, if no day or window can be published.

    ``spark`` is needed if :func:`publishes_by_spark` is true. Unless ``needs_answer`` is true, a place that does not
    answer causes no error, because it may answer when the day is stored.
    """
    if spec.output.publish and needs_spark(spec.output.path):
        where = f"output.path is {shorten(spec.output.path)}, which Spark alone opens"
        raise SpecError(f"output.publish reads the stored tables by Arrow, but {where}")
    for own in spec.output.publish:
        publisher = own.publisher.with_session(spark)
        publisher.require_library()
        try:
            for name in tables_in_order(own.tables):
                publisher.validate(name, copied_schema(_known_schema(name, column), column), column)
        except StoreError:
            if needs_answer:
                raise


def _known_schema(name: str, column: str) -> pa.Schema:
    """Return the schema that the table ``name`` always has. It is empty if the columns depend on the input."""
    if name in _BY_INPUT:
        return pa.schema([])
    if (name, column) == (RUNS.name, WINDOW):
        return WINDOW_RUNS.schema
    return next(output.schema.whole_schema for output in OUTPUTS if output.schema.name == name)


def publishes_by_spark(spec: Spec) -> bool:
    """Return whether Spark writes any of the copies published by ``spec``, so that a session is needed."""
    return any(own.publisher.needs_session for own in spec.output.publish)


def publish_target(spec: Spec, target: Target, spark: SparkSession | None = None) -> list[PublishedDay]:
    """Publish a stored day or window in every place of ``spec``, even if one place fails.

    Raise :class:`SparkrankError` with the tables that could not be published, and :class:`InputError` if the stored
    tables cannot be read.
    """
    return _published(spec, target, _files(target), spark) if spec.output.publish else []


def publish_stored(
    spec: Spec, target: Target, spark: SparkSession | None = None
) -> tuple[list[PublishedDay], list[str]]:
    """Publish a stored day, or the stored days of a window and the window itself if it is merged.

    Return the published days and windows, and the names of those without tables. Raise :class:`SpecError` if the spec
    names no place, :class:`InputError` if nothing is stored, and the errors of :func:`publish_target`.
    """
    if not spec.output.publish:
        raise SpecError("the spec has no output.publish, which lists where days are published")
    for column in dict.fromkeys((DAY, target.column)):
        validate_publish(spec, spark, column, needs_answer=True)
    days = [Target.of_day(spec, day) for day in target.window.days]
    stored, missing = [], []
    for own in [*days, target] if target.is_window else days:
        files = _files(own)
        if files.has(RUNS.name):
            stored += _published(spec, own, files, spark)
        else:
            missing.append(own.name)
    if not stored:
        raise InputError(f"{target.name} has no tables under {shorten(spec.output.path)}: evaluate the day first")
    return stored, missing


def _files(target: Target) -> ArrowFiles:
    files = day_files(target.folder, target.name, written_tables(), None, target.column)
    if not isinstance(files, ArrowFiles):  # without a session, Arrow opens the files or fails
        raise InputError(f"the tables under {shorten(target.folder)} cannot be opened without Spark")
    return files


def _published(spec: Spec, target: Target, files: ArrowFiles, spark: SparkSession | None) -> list[PublishedDay]:
    row = whole_run(files, target.column)
    attempt = row.get(ATTEMPT_ID) or row["started_at"].isoformat()  # earlier releases did not name attempts
    run = CopiedRun(target.name, target.column, row[RUN_ID], row["spec_hash"], attempt)
    done, failures = [], []
    for own in spec.output.publish:
        publisher = own.publisher.with_session(spark)
        try:
            written = publish_run(publisher, run, files, own.tables)
            done.append(PublishedDay(target.name, publisher.place, written))
        except SparkrankError as error:
            failures.append(error)
    if len(failures) > 1:
        raise SparkrankError("; ".join(map(str, failures)))
    if failures:
        raise failures[0]
    return done
