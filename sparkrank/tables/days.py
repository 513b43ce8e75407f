"""Writing a day: all tables of it become visible at once, or none.

On a local or mounted file system one link decides which run a day shows (:mod:`sparkrank.tables.links`).

Other file systems have no rename that replaces. There each table's day is replaced by Spark's own dynamic partition
overwrite, table after table, ``runs`` last: a day is whole when its row in ``runs`` names the run of its tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import pyarrow as pa

from sparkrank.errors import SparkrankError, shortened
from sparkrank.tables.links import linked_run, shown_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEME = re.compile(r"([A-Za-z][\w+.-]*):(//)?")
Table: TypeAlias = "pa.Table | DataFrame | Callable[..., pa.Table]"
DAY = "day"  # the column by which the tables of days are partitioned


class DayRun(Protocol):
    """A run's tables of one day on their way to the readers."""

    @property
    def folder(self) -> Path | None:
        """Where tables may be written before the commit, unseen; nothing where the file system has no such place."""

    def commit(self, tables: Mapping[str, Table], written: Collection[str] = ()) -> None:
        """Show ``tables``, and those ``written`` into the folder already, as the day, and nothing else.

        The last may be what makes a table of the ``files`` before it (:func:`sparkrank.tables.runs.files_of`), or
        of None where the file system does not list them.

        A table that the day had and the run lacks loses the day where a link decides; elsewhere it keeps what it had.
        """


@contextmanager
def day_run(output: str, day: str, spark: SparkSession | None = None, column: str = DAY) -> Iterator[DayRun]:
    """A run of ``day`` under ``output``, which nobody else may write meanwhile. What it has not shown goes with it.

    ``column`` names what the tables are partitioned by: days, or windows of them. Raises :class:`SparkrankError` when
    another run is writing the same day.
    """
    local = local_path(output)
    if local is None:
        yield _ReplacedRun(output, day, spark, column)
        return
    with linked_run(local, day, column) as run:
        yield run


def write_day(
    output: str,
    day: str,
    tables: Mapping[str, Table],
    spark: SparkSession | None = None,
    column: str = DAY,
) -> None:
    """Replace ``day`` in every table under ``output`` by ``tables``, in one step where the file system allows it.

    Raises what :func:`day_run` raises.
    """
    with day_run(output, day, spark, column) as run:
        run.commit(tables)


@dataclass(frozen=True)
class _ReplacedRun:
    """Tables that Spark replaces, one after the other."""

    output: str
    day: str
    spark: SparkSession | None
    column: str
    folder: None = None

    def commit(self, tables: Mapping[str, Table], written: Collection[str] = ()) -> None:
        if written:
            raise ValueError("no table is written ahead of the commit here")
        from pyspark.sql import functions as F

        if self.spark is None:
            raise SparkrankError(f"{shortened(self.output)} is not a local path: writing there needs a Spark session")
        folders = table_folders(self.output, self.day, tables, self.column)
        for name in sorted(tables, key=lambda name: name == "runs"):
            given = tables[name]
            table = given(files=None) if callable(given) else given
            # One chunk: pyspark 4.3 stops reading a table at its first empty chunk.
            frame = self.spark.createDataFrame(table.combine_chunks()) if isinstance(table, pa.Table) else table
            if isinstance(table, pa.Table) and not table.num_rows:
                frame.write.mode("overwrite").parquet(folders[name])  # dynamic overwrite replaces days that have rows
                continue
            writer = frame.withColumn(self.column, F.lit(self.day)).write.mode("overwrite").partitionBy(self.column)
            writer.option("partitionOverwriteMode", "dynamic").parquet(f"{self.output.rstrip('/')}/{name}")


def local_path(output: str) -> Path | None:
    """The folder that ``output`` names on this machine's file system, or nothing where it names another one."""
    found = _SCHEME.match(output)
    if found is None:
        return Path(output).absolute()
    # the rest as it is written: nothing in the name of a folder is encoded, and # and ? begin nothing
    return Path(output[found.end() :]).absolute() if found[1].lower() == "file" else None


def table_folders(output: str, day: str, names: Iterable[str], column: str = DAY) -> dict[str, str]:
    """Where the day of each table stands."""
    return {name: f"{output.rstrip('/')}/{name}/{column}={day}" for name in names}


def run_folders(output: str, day: str, names: Iterable[str]) -> dict[str, str]:
    """Where the tables of a day can be read so that all are of one run, also while another run replaces the day.

    Where a link decides, these are the folders of the run that it shows now; elsewhere those of the tables.
    """
    local = local_path(output)
    run = None if local is None else shown_run(local, day)
    return table_folders(output, day, names) if run is None else {name: str(run / name) for name in names}
