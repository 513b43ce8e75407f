"""A day on a local or mounted file system, where one link determines which run the day shows.

    <output>/metrics/day=2026-11-19   -> ../_days/2026-11-19/metrics     never changes
    <output>/_days/2026-11-19         -> ../_runs/2026-11-19.k3fw9a      replaced by one atomic rename: the commit
    <output>/_runs/2026-11-19.k3fw9a/metrics/part-0.parquet

Readers of Parquet skip names that begin with an underscore, so ``<output>/metrics`` reads as any partitioned table.
A run that dies before its commit leaves a folder under ``_runs``, which readers ignore and the day's next run removes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from sparkrank.errors import SparkrankError, shortened, writing_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_RUNS, _DAYS = "_runs", "_days"
_ATTEMPTS = 10  # to create a lock in a new folder, which a failed run of another day may remove at that moment


@dataclass(frozen=True)
class LinkedRun:
    """A run with its ``folder`` under ``_runs``, which a link will show. ``made`` are the link folders it created."""

    output: Path
    day: str
    folder: Path
    column: str
    made: list[Path] = field(default_factory=list)

    def commit(
        self, tables: Mapping[str, pa.Table | DataFrame | Callable[..., pa.Table]], written: Collection[str] = ()
    ) -> None:
        for name, table in tables.items():
            _write_table(self.folder / name, table(files=_files_of(self.folder)) if callable(table) else table)
        names = {*tables, *written}
        links = {name: self.output / name / f"{self.column}={self.day}" for name in sorted(names)}
        for link in links.values():
            _refuse_other(link)
        for name, link in links.items():
            self._make(link.parent)
            _link(link, Path("..") / _DAYS / self.day / name)
        shown = shown_run(self.output, self.day)
        self._make(self.output / _DAYS)
        _link(self.output / _DAYS / self.day, Path("..") / _RUNS / self.folder.name)
        _unlink_dangling(self.output, f"{self.column}={self.day}")
        if shown is not None:
            shutil.rmtree(shown, ignore_errors=True)

    def keep_others(self, names: Collection[str]) -> tuple[str, ...]:
        shown = shown_run(self.output, self.day)
        kept = [] if shown is None else sorted(each for each in shown.iterdir() if each.name not in names)
        for table in kept:
            with writing_errors(f"the table {table.name} in {self.folder}"):
                shutil.copytree(table, self.folder / table.name, copy_function=_same_file)
        return tuple(table.name for table in kept)

    def _make(self, folder: Path) -> None:
        self.made.extend([] if folder.exists() else [folder])
        _folder(folder)


@contextmanager
def linked_run(output: Path, day: str, column: str) -> Iterator[LinkedRun]:
    """A run of ``day``, which no other run can write meanwhile.

    Raises :class:`SparkrankError` when another run is writing the day, when the day is not a link, or when the
    operating system refuses the folder.
    """
    with _only_writer(output, day):
        _refuse_other(
            output / _DAYS / day
        )  # such as a copy that followed the links: refuse it before hours of work, not after
        made: list[Path] = []
        try:
            _remove_unfinished(output, day)
            with writing_errors(f"the folder {output / _RUNS}"):
                folder = Path(tempfile.mkdtemp(prefix=f"{day}.", dir=output / _RUNS))
            folder.chmod(0o755)  # mkdtemp makes it private, but others may read tables
            yield LinkedRun(output, day, folder, column, made)
        except (Exception, KeyboardInterrupt):
            _leave_no_trace(output, day, column, made)
            raise


def shown_run(output: Path, day: str) -> Path | None:
    """The folder of the run that the day shows now, or None where it shows none."""
    link = output / _DAYS / day
    return (output / _RUNS / link.readlink().name) if link.is_symlink() else None


def _same_file(source: str, target: str) -> None:
    """A second name of the file ``source``, or its copy on a file system where files have one name."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _folder(path: Path) -> Path:
    with writing_errors(f"the folder {path}"):
        path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def _only_writer(output: Path, day: str) -> Iterator[None]:
    """Hold the day's lock, which the operating system releases when the process ends for any reason."""
    with _lock(output, day) as lock:
        if not _take(lock):
            raise SparkrankError(f"another run is writing the day {day} under {shortened(output)}: wait for it to end")
        yield


def _take(lock: TextIO) -> bool:
    """Take ``lock`` unless another run has it, or a failed run that had it has removed it."""
    with writing_errors(f"the lock {lock.name}", "taken"):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return Path(lock.name).stat().st_ino == os.fstat(lock.fileno()).st_ino
        except (BlockingIOError, FileNotFoundError):
            return False


def _lock(output: Path, day: str) -> TextIO:
    path = output / _RUNS / f"{day}.lock"
    for _ in range(_ATTEMPTS):
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            return path.open("w")
    _folder(path.parent)
    with writing_errors(f"the lock {path}"):
        return path.open("w")


def _leave_no_trace(output: Path, day: str, column: str, made: list[Path]) -> None:
    """Remove the folder and links of a run without a commit, and all else that it made where no run was before it."""
    _remove_unfinished(output, day)
    _unlink_dangling(output, f"{column}={day}")
    if output / _DAYS in made:
        _remove_if_empty(output / _DAYS)
    if not (output / _DAYS).exists():
        (output / _RUNS / f"{day}.lock").unlink(missing_ok=True)
        for folder in (output / _RUNS, *made, output):
            _remove_if_empty(folder)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):  # it is not empty
        folder.rmdir()


def _remove_unfinished(output: Path, day: str) -> None:
    """Remove the remains of runs of the day that died before their commit."""
    shown = shown_run(output, day)
    for run in (output / _RUNS).glob(f"{day}.*"):
        if run.is_dir() and run != shown:
            shutil.rmtree(run, ignore_errors=True)
    link = _unfinished(output / _DAYS / day)
    if link.is_symlink():
        link.unlink()


def _files_of(run: Path) -> list[dict[str, Any]]:
    """The files of each table in the folder of a ``run``, in order, with their rows: what its row in ``runs`` lists."""
    return [
        {"table": file.parent.name, "name": file.name, "rows": pq.read_metadata(file).num_rows}
        for file in sorted(run.glob("*/[!._]*"))
    ]


def _write_table(folder: Path, table: pa.Table | DataFrame) -> None:
    if isinstance(table, pa.Table):
        # numbers of bins and states hardly repeat, so dictionaries took three times as long, for a larger file
        texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
        with writing_errors(f"the table {folder.name} in {folder}"):
            pq.write_table(table, _folder(folder) / "part-0.parquet", use_dictionary=texts)
        return
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    observed = Observation()
    table.observe(observed, F.count(F.lit(1)).alias("rows")).write.parquet(f"file://{folder}")
    rows, written = observed.get["rows"], sum(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))
    if written != rows:
        raise SparkrankError(
            f"{shortened(folder)} has {written} of the {rows} rows of the table {folder.name}: name an output.path "
            f"that every executor reaches, as a folder that is mounted on all of them"
        )


def _link(link: Path, target: Path) -> None:
    """Make ``link`` point to ``target``, in one atomic step even where it pointed elsewhere."""
    if link.is_symlink() and link.readlink() == target:
        return
    _refuse_other(link)
    new = _unfinished(link)
    with writing_errors(f"the link {link}"):
        new.unlink(missing_ok=True)
        new.symlink_to(target, target_is_directory=True)
        new.replace(link)


def _unfinished(link: Path) -> Path:
    """The temporary name of ``link``: one for each day, so that the next run finds what a dead run left."""
    return link.with_name(f".{link.name}")


def _refuse_other(link: Path) -> None:
    if link.exists() and not link.is_symlink():
        raise SparkrankError(
            f"{shortened(link)} is not a link of sparkrank's: move it away or choose another output.path"
        )


def _unlink_dangling(output: Path, partition: str) -> None:
    """Remove links of the day to tables that its shown run lacks, or all of them where the day shows no run."""
    for folder in output.iterdir():
        for link in (folder / partition, _unfinished(folder / partition)):
            if link.is_symlink() and not link.exists():
                link.unlink()
