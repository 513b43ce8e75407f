"""Writing a day: all tables of it become visible at once, or none.

On a local or mounted file system one link decides which run a day shows:

    <output>/metrics/day=2026-11-19   -> ../_days/2026-11-19/metrics     never changes
    <output>/_days/2026-11-19         -> ../_runs/2026-11-19.k3fw9a      replaced by one atomic rename: the commit
    <output>/_runs/2026-11-19.k3fw9a/metrics/part-0.parquet

Readers of Parquet skip names that begin with an underscore, so ``<output>/metrics`` reads as any partitioned table.
A run that dies before its commit leaves a folder under ``_runs`` that nobody sees; the next run of the day removes it.

Other file systems have no rename that replaces. There each table's day is replaced by Spark's own dynamic partition
overwrite, table after table, ``runs`` last: a day is whole when its row in ``runs`` names the run of its tables.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from sparkrank.errors import SparkrankError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = "day"  # the column by which the tables of days are partitioned
_RUNS, _DAYS = "_runs", "_days"


class DayRun(Protocol):
    """A run's tables of one day on their way to the readers."""

    @property
    def folder(self) -> Path | None:
        """Where tables may be written before the commit, unseen; nothing where the file system has no such place."""

    def commit(self, tables: Mapping[str, pa.Table | DataFrame], written: Collection[str] = ()) -> None:
        """Show ``tables``, and those ``written`` into the folder already, as the day, and nothing else.

        A table that the day had and the run lacks loses the day.
        """


@contextmanager
def day_run(output: str, day: str, spark: SparkSession | None = None, column: str = DAY) -> Iterator[DayRun]:
    """A run of ``day`` under ``output``, which nobody else may write meanwhile. What it has not shown goes with it.

    ``column`` names what the tables are partitioned by: days, or windows of them. Raises :class:`SparkrankError` when
    another run is writing the same day.
    """
    local = local_path(output)
    if local is None:
        yield _RemoteRun(output, day, spark, column)
        return
    with _only_writer(local, day):
        _remove_unfinished(local, day)
        folder = Path(tempfile.mkdtemp(prefix=f"{day}.", dir=_folder(local / _RUNS)))
        folder.chmod(0o755)  # mkdtemp makes it private, and tables are for others to read
        try:
            yield _LocalRun(local, day, folder, column)
        except Exception:
            _leave_no_trace(local, day)
            raise


def write_day(
    output: str,
    day: str,
    tables: Mapping[str, pa.Table | DataFrame],
    spark: SparkSession | None = None,
    column: str = DAY,
) -> None:
    """Replace ``day`` in every table under ``output`` by ``tables``, in one step where the file system allows it.

    Raises what :func:`day_run` raises.
    """
    with day_run(output, day, spark, column) as run:
        run.commit(tables)


@dataclass(frozen=True)
class _LocalRun:
    """A folder under ``_runs``; a link shows it."""

    output: Path
    day: str
    folder: Path
    column: str

    def commit(self, tables: Mapping[str, pa.Table | DataFrame], written: Collection[str] = ()) -> None:
        for name, table in tables.items():
            _write_table(self.folder / name, table)
        names = {*tables, *written}
        for name in sorted(names):
            _link(_folder(self.output / name) / f"{self.column}={self.day}", Path("..") / _DAYS / self.day / name)
        shown = _shown_run(self.output, self.day)
        _link(_folder(self.output / _DAYS) / self.day, Path("..") / _RUNS / self.folder.name)
        _unlink_missing(self.output, f"{self.column}={self.day}", names)
        if shown is not None:
            shutil.rmtree(shown, ignore_errors=True)


@dataclass(frozen=True)
class _RemoteRun:
    """Tables that Spark replaces, one after the other."""

    output: str
    day: str
    spark: SparkSession | None
    column: str
    folder: None = None

    def commit(self, tables: Mapping[str, pa.Table | DataFrame], written: Collection[str] = ()) -> None:
        if written:
            raise ValueError("no table is written ahead of the commit here")
        _overwrite_partitions(self.output, self.day, tables, self.spark, self.column)


def local_path(output: str) -> Path | None:
    """The folder that ``output`` names on this machine's file system, or nothing where it names another one."""
    parts = urlparse(output)
    if parts.scheme not in ("", "file"):
        return None
    return Path(parts.path if parts.scheme else output).absolute()


def table_folders(output: str, day: str, names: Iterable[str], column: str = DAY) -> dict[str, str]:
    """Where the day of each table stands."""
    return {name: f"{output.rstrip('/')}/{name}/{column}={day}" for name in names}


def run_folders(output: str, day: str, names: Iterable[str]) -> dict[str, str]:
    """Where the tables of a day can be read so that all are of one run, also while another run replaces the day.

    Where a link decides, these are the folders of the run that it shows now; elsewhere those of the tables.
    """
    local = local_path(output)
    run = None if local is None else _shown_run(local, day)
    return table_folders(output, day, names) if run is None else {name: str(run / name) for name in names}


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def _only_writer(output: Path, day: str) -> Iterator[None]:
    """Hold the day's lock, which the operating system drops with the process, however it ends."""
    with _lock(output, day) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = Path(lock.name).stat().st_ino == os.fstat(lock.fileno()).st_ino
        except OSError:  # held by another, or removed by one that had it and showed nothing
            mine = False
        if not mine:
            raise SparkrankError(f"another run is writing the day {day} under {output}: wait for it to end")
        yield


def _lock(output: Path, day: str) -> TextIO:
    return (_folder(output / _RUNS) / f"{day}.lock").open("w")


def _leave_no_trace(output: Path, day: str) -> None:
    """Remove what a run made that shows nothing: its folder, and where no run was before it, all the rest."""
    _remove_unfinished(output, day)
    if not (output / _DAYS).exists():
        (output / _RUNS / f"{day}.lock").unlink()
        for folder in (output / _RUNS, output):
            with suppress(OSError):  # something else is in it
                folder.rmdir()


def _remove_unfinished(output: Path, day: str) -> None:
    """Remove what runs of the day left behind that died before their commit."""
    shown = _shown_run(output, day)
    for run in (output / _RUNS).glob(f"{day}.*"):
        if run.is_dir() and run != shown:
            shutil.rmtree(run, ignore_errors=True)


def _shown_run(output: Path, day: str) -> Path | None:
    link = output / _DAYS / day
    return (output / _RUNS / link.readlink().name) if link.is_symlink() else None


def _write_table(folder: Path, table: pa.Table | DataFrame) -> None:
    if isinstance(table, pa.Table):
        # numbers of blocks and states hardly repeat: to look them up took three times as long, for a larger file
        texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
        pq.write_table(table, _folder(folder) / "part-0.parquet", use_dictionary=texts)
    else:
        table.write.parquet(f"file://{folder}")


def _link(link: Path, target: Path) -> None:
    """Make ``link`` point to ``target``, in one step also where it pointed elsewhere."""
    if link.is_symlink() and link.readlink() == target:
        return
    if link.exists() and not link.is_symlink():
        raise SparkrankError(f"{link} is not a link of sparkrank's: move it away or choose another output.path")
    new = link.with_name(f".{link.name}.{os.getpid()}")
    new.unlink(missing_ok=True)
    new.symlink_to(target, target_is_directory=True)
    new.replace(link)


def _unlink_missing(output: Path, partition: str, names: set[str]) -> None:
    for folder in output.iterdir():
        link = folder / partition
        if folder.name not in names and link.is_symlink():
            link.unlink()


def _overwrite_partitions(
    output: str, day: str, tables: Mapping[str, pa.Table | DataFrame], spark: SparkSession | None, column: str
) -> None:
    from pyspark.sql import functions as F

    if spark is None:
        raise SparkrankError(f"{output} is not a local path: writing there needs a Spark session")
    for name in sorted(tables, key=lambda name: name == "runs"):
        table = tables[name]
        # One chunk: pyspark 4.3 stops reading a table at its first empty chunk.
        frame = spark.createDataFrame(table.combine_chunks()) if isinstance(table, pa.Table) else table
        writer = frame.withColumn(column, F.lit(day)).write.mode("overwrite").partitionBy(column)
        writer.option("partitionOverwriteMode", "dynamic").parquet(f"{output.rstrip('/')}/{name}")
