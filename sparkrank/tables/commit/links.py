"""Runs on a local file system. They replace a day by one atomic rename of a link and survive a loss of power.

A run writes all tables into its own folder, flushes the files to disk, and makes the links that readers open. The run
then replaces the link that names the run of the day. The previous run is kept for readers that have already listed the
previous run's files.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from sparkrank.base.errors import SparkrankError, first_line, shorten, writing_errors
from sparkrank.schemas.tables import ATTEMPT_ID
from sparkrank.tables.commit.durable_folders import files_and_folders, make_folder, remove_if_empty, sync_all
from sparkrank.tables.commit.locks import Lock, only_writer, remove_lock
from sparkrank.tables.commit.output_folder import PLAIN, REPLACED, OutputFolder, new_attempt, replace_link
from sparkrank.tables.commit.plain_folders import publish, unpublished, validate_moves

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEEP_RUNS = 1
_PIECE = 1 << 20  # bytes read at a time
Table: TypeAlias = "pa.Table | DataFrame | Callable[..., pa.Table]"


@dataclass(frozen=True)
class Commit:
    """The options for replacing a day.

    ``keep_runs`` is the number of earlier runs that stay on disk. The commit calls the function ``before`` right before
    readers can see the new tables. If ``plain`` is true, readers find the tables in real folders instead of through
    links. ``attempt`` is the unique name of the run; by default the run makes one.
    """

    keep_runs: int = KEEP_RUNS
    before: Callable[[], None] = lambda: None
    plain: bool = False
    attempt: str | None = None


DEFAULT_COMMIT = Commit()


@dataclass(frozen=True)
class LinkedRun:
    """A run of a day on a local file system. ``made`` lists the folders that the run made outside its own folder.

    ``known`` maps the table and name of each file from an earlier run to the file's entry in ``runs`` of that run.
    """

    place: OutputFolder
    day: str
    attempt: str
    lock: Lock
    how: Commit
    made: list[Path] = field(default_factory=list)
    known: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.place.run_folder(self.day, self.attempt)

    def commit(self, tables: Mapping[str, Table], written: Collection[str] = ()) -> None:
        files = {name: self._names(name) for name in written if (self.folder / name).is_dir()}
        for name, table in tables.items():
            self._write(name, table(files=self._files(), attempt_id=self.attempt) if callable(table) else table)
            files[name] = self._names(name)
        files |= {name: self._names(name) for name in written if name not in files}  # the report, made with ``runs``
        names, shown = sorted(files), self.place.shown(self.day)
        self.place.validate(self.day, names)
        if moves_folders(self.place, self.day, self.how):
            validate_moves(self.place, self.day, names)
        before = [] if shown is None else [*self.place.replaced(shown), shown]
        kept = [run.name for run in before[max(0, len(before) - self.how.keep_runs) :]]
        for file, content in ((REPLACED, kept), (PLAIN, files if self.how.plain else {})):
            if content:
                with writing_errors(f"{self.folder / file}"):
                    (self.folder / file).write_text(json.dumps(content), encoding="utf-8")
        sync_all(files_and_folders(self.folder))
        folders = [self.place.days, *(self.place.table_link(name, self.day).parent for name in names)]
        for folder in folders:
            make_folder(folder, self.made)
        if not (self.how.plain if shown is None else self.place.plain_files(shown)):
            for name in names:
                replace_link(self.place.table_link(name, self.day), self.place.table_target(name, self.day))
        above = {folder.parent for folder in (*self.made, self.place.root)}
        sync_all(sorted({*folders, self.place.runs, *above}))
        lost = [path for name in names for file in files[name] if not (path := self.folder / name / file).is_file()]
        if lost:
            raise self._taken_away(shorten(lost[0]))
        self._show()
        try:
            settle(self.place, self.day)
        except (SparkrankError, OSError) as error:
            raise SparkrankError(f"{self.day} is shown, but {first_line(error)}: run the day again") from error

    def _taken_away(self, what: str) -> SparkrankError:
        place = shorten(self.place.root)
        return SparkrankError(
            f"{what} was taken away while {self.day} was written under {place}: no table of this run is visible"
        )

    def _show(self) -> None:
        """Commit the run: replace the link of the day, so that readers see the tables of this run."""
        if not self.lock.is_held():
            raise self._taken_away(f"the lock of {self.day}")
        self.how.before()
        target = Path("..") / self.place.runs.name / self.folder.name
        replace_link(self.place.day_link(self.day), target)
        with suppress(OSError, SparkrankError):  # the day is committed, even if a later step fails
            sync_all([self.place.days])

    def keep_others(self, names: Collection[str], listed: Sequence[dict[str, Any]]) -> tuple[str, ...]:
        shown = self.place.shown(self.day)
        kept = {} if shown is None else self.place.tables_of(shown)
        kept = {name: folder for name, folder in kept.items() if name not in names}
        self.take(kept)
        self.known.update(((file["table"], file["name"]), file) for file in listed)
        return tuple(kept)

    def take(self, tables: Mapping[str, Path]) -> None:
        """Hard-link or copy the files of ``tables``, a mapping of names to folders, into the folder of this run."""
        for name, folder in tables.items():
            make_folder(self.folder / name)
            with writing_errors(f"the table {name} in {self.folder}"):
                for file in filter(Path.is_file, folder.iterdir()):
                    _same_file(file, self.folder / name / file.name)

    def _names(self, name: str) -> list[str]:
        """Return the sorted names of the files of the table ``name`` in the folder of this run."""
        with writing_errors(f"the table {name} in {self.folder}"):
            return sorted(file.name for file in (self.folder / name).iterdir() if file.is_file())

    def _files(self) -> list[dict[str, Any]]:
        """Return an entry for the table ``runs`` for each file in the folder of this run, sorted by path."""
        return [
            self.known.get((file.parent.name, file.name))
            or {
                "table": file.parent.name,
                "name": file.name,
                "rows": pq.read_metadata(file).num_rows,
                "bytes": file.stat().st_size,
                "checksum": checksum(file),
            }
            for file in sorted(self.folder.glob("*/[!._]*.parquet"))
        ]

    def _write(self, name: str, table: pa.Table | DataFrame) -> None:
        folder = self.folder / name
        if isinstance(table, pa.Table):
            make_folder(folder)
            with writing_errors(f"the table {name} in {folder}"):
                write_parquet(table, folder / f"part-0-{self.attempt}.parquet", self.attempt)
            return
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        observed = Observation()
        table.observe(observed, F.count(F.lit(1)).alias("rows")).write.parquet(f"file://{folder}")
        files = sorted(folder.glob("*.parquet"))
        rows, there = observed.get["rows"], sum(pq.read_metadata(file).num_rows for file in files)
        if there != rows:
            raise SparkrankError(
                f"{shorten(folder)} has {there} of the {rows} rows of the table {name}: name an output.path that "
                f"every executor reaches, such as a folder mounted on all of them"
            )
        with writing_errors(f"the table {name} in {folder}"):
            for number, file in enumerate(files):
                file.rename(folder / f"part-{number}-{self.attempt}.parquet")
                file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def write_parquet(table: pa.Table, sink: Path | pa.NativeFile, attempt: str) -> None:
    """Write ``table`` as Parquet, with the run name ``attempt`` in the metadata."""
    own = table.replace_schema_metadata({**(table.schema.metadata or {}), ATTEMPT_ID: attempt})
    # The numbers in bins and states hardly repeat: dictionaries took three times as long and made the file larger.
    texts = [column.name for column in own.schema if pa.types.is_string(column.type)]
    pq.write_table(own, sink, use_dictionary=texts, write_page_checksum=True)


@contextmanager
def linked_run(output: Path, day: str, column: str, how: Commit) -> Iterator[LinkedRun]:
    """Lock ``day``, start a run and yield the run. If ``how.before`` raises an error, readers still see the old run.

    Raise :class:`SparkrankError` if another run is writing the day, if a needed path exists that sparkrank did not
    make, or if the operating system refuses to make a folder.
    """
    place = OutputFolder(output, column)
    place.validate(day)  # fail before hours of work, not after
    if moves_folders(place, day, how):
        validate_moves(place, day, [name for name in place.tables() if os.path.lexists(place.table_link(name, day))])
    made: list[Path] = []
    try:
        with only_writer(place.lock(day), day, output, made) as lock:
            run = LinkedRun(place, day, how.attempt or new_attempt(), lock, how, made)
            try:
                settle(place, day)
                _tidy_others(place, day)
                make_folder(run.folder)
                yield run
            except (Exception, KeyboardInterrupt):
                _leave_no_trace(run)
                raise
    except (Exception, KeyboardInterrupt):
        for folder in reversed(made):
            remove_if_empty(folder)
        raise


def export_day(source: OutputFolder, day: str, output: Path, before_commit: Callable[[], None]) -> None:
    """Copy the current run of ``day`` from ``source`` to ``output``, where its tables are in real folders.

    Raise :class:`SparkrankError` if ``source`` has no tables of the day, and for the reasons of :func:`linked_run`.
    """
    shown = source.shown(day)
    if shown is None:
        raise SparkrankError(f"{day} has no tables under {shorten(source.root)}")
    tables = source.tables_of(shown)
    with linked_run(output, day, source.column, Commit(0, before_commit, plain=True)) as run:
        run.take(tables)
        run.commit({}, tables)


def is_exported(source: OutputFolder, day: str, output: Path) -> bool:
    """Return whether readers of ``day`` find in ``output`` the same files, with the same sizes, as in ``source``."""
    shown, goal = source.shown(day), OutputFolder(output, source.column)
    there = goal.shown(day)
    if shown is None or there is None or unpublished(goal, there):
        return False
    return _sizes(goal.tables_of(there)) == _sizes(source.tables_of(shown))


def _sizes(tables: Mapping[str, Path]) -> dict[str, dict[str, int]]:
    """Return the size of each file in bytes, by table and file name. File names differ between runs."""
    return {name: {file.name: file.stat().st_size for file in folder.iterdir()} for name, folder in tables.items()}


def moves_folders(place: OutputFolder, day: str, how: Commit) -> bool:
    """Return whether a commit moves folders of tables, because the new run or the previous run uses real folders."""
    shown = place.shown(day)
    return how.plain or (shown is not None and bool(place.plain_files(shown)))


def settle(place: OutputFolder, day: str) -> list[Path]:
    """Complete the commit of the current run of ``day``, and remove obsolete runs of the day and dead links.

    The caller must hold the lock of the day. Returns the removed paths.
    """
    publish(place, day)
    removed = leftovers(place, place.shown(day), place.runs_of(day))
    for run in removed:
        place.remove_run(run)
    dangling = [link for link in place.links_of(day) if not link.exists() or link.name.startswith(".")]
    for link in (*place.unfinished_day_links(day), *dangling):
        with suppress(OSError):
            link.unlink()
            removed.append(link)
    return removed


def leftovers(place: OutputFolder, shown: Path | None, runs: Collection[Path]) -> list[Path]:
    """Return the obsolete ``runs`` of a day: all except its current run ``shown`` and the runs kept by that run."""
    others = [run for run in runs if run != shown]
    kept = place.replaced(shown) if others else []
    return [run for run in others if run not in kept]


def checksum(file: Path) -> str:
    """Return the SHA-256 checksum of the content of ``file`` as a hexadecimal string."""
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while piece := opened.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _tidy_others(place: OutputFolder, own: str) -> None:
    """Clean up what killed runs left behind for days other than ``own``. Days that are locked are skipped."""
    for day, runs in place.unsettled().items():
        shown = place.shown(day) if day != own else None
        if day != own and (shown is None or unpublished(place, shown) or leftovers(place, shown, runs)):
            with suppress(SparkrankError, OSError), only_writer(place.lock(day), day, place.root, []):
                settle(place, day)
                if place.shown(day) is None:
                    remove_lock(place.lock(day))


def _leave_no_trace(run: LinkedRun) -> None:
    """Remove all that a failed run made. If the run was already committed, remove only obsolete runs of the day."""
    place, day = run.place, run.day
    with suppress(SparkrankError, OSError):  # the run's own error is raised
        settle(place, day)
    if place.shown(day) == run.folder:
        return
    for folder in reversed(run.made):
        if folder not in (place.root, place.runs):
            remove_if_empty(folder)
    if not place.days.exists():
        remove_lock(place.lock(day))


def _same_file(source: Path, target: Path) -> None:
    """Hard-link ``source`` as ``target``, or copy the file if the file system has no hard links."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copyfile(source, target, follow_symlinks=False)
