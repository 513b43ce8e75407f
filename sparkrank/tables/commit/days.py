"""Functions that write a day so that all of its tables become visible at the same time.

On a local file system, a link names the run that readers of a day see (:mod:`sparkrank.tables.commit.links`). In an
object store that Arrow can open, a small object names the run (:mod:`sparkrank.tables.commit.store_run`). Elsewhere,
Spark replaces the day in one table after another by dynamic partition overwrite. The row of ``runs`` is removed first
and written last: while the day has a row in ``runs``, all of its tables belong to the run that the row names.
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
        """The unique name of the run, which is also the last part of the names of the run's files."""

    @property
    def folder(self) -> Path | str | None:
        """The folder in which tables can be written unseen by readers before the commit; None if not supported."""

    def commit(self, tables: Mapping[str, Table], written: Collection[str] = ()) -> None:
        """Replace the day with ``tables`` and with the tables ``written``, which are already in the folder.

        The last of ``tables`` may be a function that makes the table from ``files`` and ``attempt_id``. ``files`` lists
        the files of all earlier tables; it is None if this kind of run lists no files. A table that the run lacks is
        removed from the day. If Spark replaces tables one by one, such a table keeps its old rows instead.
        """

    def keep_others(self, names: Collection[str], listed: Sequence[dict[str, Any]]) -> tuple[str, ...]:
        """Copy all tables that readers see now, except ``names``, into this run, without any visible change.

        ``listed`` contains the checked entries of the day's files from the table ``runs``. The new run lists them
        unchanged. Returns the names of the copied tables, which :meth:`commit` requires as ``written``. There are none
        if a commit leaves other tables unchanged anyway.
        """


@contextmanager
def day_run(
    output: str, day: str, spark: SparkSession | None = None, column: str = DAY, how: Commit = DEFAULT_COMMIT
) -> Iterator[DayRun]:
    """Start a run that writes ``day`` under ``output``, and yield the run. On a local file system, lock the day.

    If the context fails, uncommitted tables are removed. Raise :class:`SparkrankError` if the day is already locked.
    """
    local = local_path(output)
    if local is not None:
        with linked_run(local, day, column, how) as run:
            yield run
    elif (place := StoreFolder.that_opens(output)) is None:
        yield _ReplacedRun(output, day, spark, column, how.attempt or new_attempt())
    else:
        stored = StoreRun(place, day, column, how.attempt or new_attempt(), place.read_to_replace(day), how)
        try:
            yield stored
        except (Exception, KeyboardInterrupt):
            with suppress(Exception):  # the run's own error is raised; if removing fails, the files stay
                stored.discard()
            raise


@dataclass(frozen=True)
class _ReplacedRun:
    """A run in which Spark replaces the tables of the day one after another."""

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
        self._remove_rows(folders.get("runs"))
        for name in sorted(tables, key=lambda name: name == "runs"):
            given = tables[name]
            table = given(files=None, attempt_id=self.attempt) if callable(given) else given
            # One chunk: pyspark 4.3 stops reading a table at its first empty chunk.
            frame = self.spark.createDataFrame(table.combine_chunks()) if isinstance(table, pa.Table) else table
            if isinstance(table, pa.Table) and not table.num_rows:  # dynamic overwriting would keep the old rows
                frame.write.mode("overwrite").parquet(folders[name])
                continue
            writer = frame.withColumn(self.column, F.lit(self.day)).write.mode("overwrite").partitionBy(self.column)
            writer.option("partitionOverwriteMode", "dynamic").parquet(f"{self.output.rstrip('/')}/{name}")

    def _remove_rows(self, folder: str | None) -> None:
        """Replace the table in ``folder``, if there is one, by an empty one. Spark has no public call to remove it."""
        from pyspark.errors import AnalysisException

        if folder is None or self.spark is None:
            return
        try:
            schema = self.spark.read.parquet(folder).schema
        except AnalysisException:  # the day has no run yet
            return
        self.spark.createDataFrame([], schema).write.mode("overwrite").parquet(folder)


def local_path(output: str) -> Path | None:
    """Return the absolute local path that ``output`` names, or None if ``output`` names another file system."""
    scheme = _SCHEME.match(output)
    if scheme is None:
        return Path(output).absolute()
    # The rest is taken literally: folder names are not encoded, and # and ? have no special meaning.
    return Path(output[scheme.end() :]).absolute() if scheme[1].lower() == "file" else None


def table_folders(output: str, day: str, names: Iterable[str], column: str = DAY) -> dict[str, str]:
    """Return the path of the partition ``day`` in each of the tables ``names``, by table name."""
    return {name: f"{output.rstrip('/')}/{name}/{column}={day}" for name in names}


def shown_run(output: str, day: str, column: str = DAY) -> Path | None:
    """Return the folder of the run that readers of ``day`` see; None if there is none or ``output`` is not local."""
    local = local_path(output)
    return None if local is None else OutputFolder(local, column).shown(day)


def run_folders(output: str, day: str, names: Iterable[str], column: str = DAY) -> dict[str, str]:
    """Return the folder with the rows of ``day`` for each of the tables ``names``, by table name.

    If a link or a manifest names the run of the day, these are the folders of that run. Otherwise, they are partitions
    of the tables, such as ``metrics/day=2026-11-19``. Raise :class:`InputError` if the manifest is invalid, and pass
    errors of Arrow unchanged.
    """
    local, shown = local_path(output), shown_run(output, day, column)
    if local is not None and shown is not None:
        place = OutputFolder(local, column)
        return {name: str(place.table_folder(shown, name)) for name in names}
    run = _run_of_manifest(output, day)
    return table_folders(output, day, names, column) if run is None else {name: f"{run}/{name}" for name in names}


def stored_names(output: str, column: str = DAY) -> set[str] | None:
    """Return the days (or windows) in the table ``metrics`` under ``output``; None if Arrow cannot list the folder."""
    try:
        store, folder = file_system(f"{output.rstrip('/')}/metrics")
        names = folders_in(store, folder)
    except (pa.ArrowException, OSError):
        return None
    return {name.partition("=")[2] for name in names if name.startswith(f"{column}=")}


def needs_spark(output: str) -> bool:
    """Return whether only Spark can write to ``output``: it is not local, and Arrow cannot open its object store."""
    return local_path(output) is None and StoreFolder.that_opens(output) is None


def _run_of_manifest(output: str, day: str) -> str | None:
    """Return the URL of the folder of the run that the manifest of ``day`` names; None if there is no manifest."""
    place = None if local_path(output) is not None else StoreFolder.at(output)
    manifest = None if place is None else place.read(day).manifest
    return None if place is None or manifest is None else place.run_url(manifest.run)
