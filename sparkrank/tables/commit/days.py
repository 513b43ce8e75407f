"""Writing a day so that its tables become visible all at once, or not at all.

On a local file system, a link names the run that a day shows (:mod:`sparkrank.tables.commit.links`). In an object store
that Arrow opens, a small object names the run (:mod:`sparkrank.tables.commit.store_run`). Elsewhere, Spark's dynamic
partition overwrite replaces the day in one table after another, ``runs`` last. There, a day is complete when its row in
``runs`` names the run that wrote its tables.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from sparkrank.base.errors import SparkrankError, shorten
from sparkrank.sources.files import file_system, folders_in
from sparkrank.tables.commit.links import DEFAULT_COMMIT, Commit, Table, linked_run
from sparkrank.tables.commit.manifests import StoreFolder
from sparkrank.tables.commit.output_folder import DAY, OutputFolder, new_attempt
from sparkrank.tables.commit.store_run import StoreRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = re.compile(r"([A-Za-z][\w+.-]*):(//)?")


class DayRun(Protocol):
    """The tables of one day that a run is writing."""

    @property
    def attempt(self) -> str:
        """The unique name of the run. The names of the run's files end with it."""

    @property
    def folder(self) -> Path | str | None:
        """A folder, unseen by readers, where tables can be written before the commit; None if there is none."""

    def commit(self, tables: Mapping[str, Table], written: Collection[str] = ()) -> None:
        """Replace the day with ``tables`` and with the tables already ``written`` into the folder.

        The last of ``tables`` may be a function that makes the table from ``files`` and ``attempt_id``. ``files`` lists
        the files of all earlier tables, or is None where files are not listed. A table that the run lacks is removed
        from the day, except where Spark writes: there, the table keeps its old rows.
        """

    def keep_others(self, names: Collection[str], listed: Sequence[dict[str, Any]]) -> tuple[str, ...]:
        """Take over the tables that the day shows now, except ``names``. Readers see no change before the commit.

        ``listed`` has the entries of the day's files in ``runs``, already checked; the new run lists them unchanged.
        Returns the table names to pass to the commit: none where a commit leaves other tables alone.
        """


@contextmanager
def day_run(
    output: str, day: str, spark: SparkSession | None = None, column: str = DAY, how: Commit = DEFAULT_COMMIT
) -> Iterator[DayRun]:
    """Hold a run of ``day`` under ``output``. On a local file system, the day is locked against other runs.

    If the run fails, uncommitted tables are removed. Raises :class:`SparkrankError` if another run is writing the day.
    """
    local = local_path(output)
    if local is not None:
        with linked_run(local, day, column, how) as run:
            yield run
    elif (place := StoreFolder.that_opens(output)) is None:
        yield _ReplacedRun(output, day, spark, column, new_attempt())
    else:
        stored = StoreRun(place, day, column, new_attempt(), place.read_to_replace(day), how)
        try:
            yield stored
        except (Exception, KeyboardInterrupt):
            with suppress(Exception):  # the run's own error is raised; when in doubt, its files stay
                stored.discard()
            raise


@dataclass(frozen=True)
class _ReplacedRun:
    """A run for which Spark replaces one table after another."""

    output: str
    day: str
    spark: SparkSession | None
    column: str
    attempt: str
    folder: None = None

    def keep_others(self, names: Collection[str], listed: Sequence[dict[str, Any]]) -> tuple[str, ...]:  # noqa: ARG002 - the others stay as they are
        return ()

    def commit(self, tables: Mapping[str, Table], written: Collection[str] = ()) -> None:
        if written:
            raise ValueError("no table is written ahead of the commit here")
        from pyspark.sql import functions as F

        if self.spark is None:
            raise SparkrankError(f"{shorten(self.output)} is not a local path: writing there needs a Spark session")
        folders = table_folders(self.output, self.day, tables, self.column)
        for name in sorted(tables, key=lambda name: name == "runs"):
            given = tables[name]
            table = given(files=None, attempt_id=self.attempt) if callable(given) else given
            # One chunk: pyspark 4.3 stops reading a table at its first empty chunk.
            frame = self.spark.createDataFrame(table.combine_chunks()) if isinstance(table, pa.Table) else table
            if isinstance(table, pa.Table) and not table.num_rows:  # overwriting leaves partitions without new rows
                frame.write.mode("overwrite").parquet(folders[name])
                continue
            writer = frame.withColumn(self.column, F.lit(self.day)).write.mode("overwrite").partitionBy(self.column)
            writer.option("partitionOverwriteMode", "dynamic").parquet(f"{self.output.rstrip('/')}/{name}")


def local_path(output: str) -> Path | None:
    """The folder that ``output`` names on the local file system; None if it names another file system."""
    scheme = _SCHEME.match(output)
    if scheme is None:
        return Path(output).absolute()
    # The rest is taken literally: folder names are not encoded, and # and ? have no special meaning.
    return Path(output[scheme.end() :]).absolute() if scheme[1].lower() == "file" else None


def table_folders(output: str, day: str, names: Iterable[str], column: str = DAY) -> dict[str, str]:
    """The folder of ``day`` within each of the tables ``names``, by table name."""
    return {name: f"{output.rstrip('/')}/{name}/{column}={day}" for name in names}


def shown_run(output: str, day: str, column: str = DAY) -> Path | None:
    """The folder of the run that ``day`` shows; None if no run is shown, or if ``output`` is not a local path."""
    local = local_path(output)
    return None if local is None else OutputFolder(local, column).shown(day)


def run_folders(output: str, day: str, names: Iterable[str], column: str = DAY) -> dict[str, str]:
    """The folders of the tables ``names`` of ``day``, by table name.

    If a link or a manifest names a run, the folders are those of the run; otherwise, they are inside the tables
    themselves. Raises :class:`sparkrank.base.errors.InputError` if the manifest is invalid, and Arrow's own errors if
    Arrow fails.
    """
    local, shown = local_path(output), shown_run(output, day, column)
    if local is not None and shown is not None:
        place = OutputFolder(local, column)
        return {name: str(place.table_folder(shown, name)) for name in names}
    run = _run_of_manifest(output, day)
    return table_folders(output, day, names, column) if run is None else {name: f"{run}/{name}" for name in names}


def stored_names(output: str, column: str = DAY) -> set[str] | None:
    """The days (or windows) that the table ``metrics`` has under ``output``; None if Arrow cannot list them."""
    try:
        store, folder = file_system(f"{output.rstrip('/')}/metrics")
        names = folders_in(store, folder)
    except (pa.ArrowException, OSError):
        return None
    return {name.partition("=")[2] for name in names if name.startswith(f"{column}=")}


def needs_spark(output: str) -> bool:
    """Whether only Spark can write to ``output``, which is neither a local folder nor in a store that Arrow opens."""
    return local_path(output) is None and StoreFolder.that_opens(output) is None


def _run_of_manifest(output: str, day: str) -> str | None:
    """The folder of the run that ``day`` shows in an object store; None if the day has no manifest there."""
    place = None if local_path(output) is not None else StoreFolder.at(output)
    manifest = None if place is None else place.read(day).manifest
    return None if place is None or manifest is None else place.run_url(manifest.run)
