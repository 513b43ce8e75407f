"""The layout of the output folder. A path belongs to sparkrank if its name, type and link target match this layout.

::

    output/
      metrics/day=2026-11-19 -> ../_days/2026-11-19/metrics        what a reader opens
      _days/2026-11-19       -> ../_runs/2026-11-19.5f0c2a9d1b7e   names the run that readers see
      _runs/2026-11-19.5f0c2a9d1b7e/metrics/part-0-5f0c2a9d1b7e.parquet
      _runs/2026-11-19.lock

A commit replaces the link of the day, ``_days/2026-11-19``. With ``output.plain``, ``metrics/day=2026-11-19`` is a real
folder, into which the files of the run were moved (:mod:`sparkrank.tables.commit.plain_folders`). The file ``_PLAIN``
in the run's folder lists these files. The file ``_REPLACED`` in the same folder lists the earlier runs of the day that
stay on disk, newest last. Any other run of the day is unfinished or obsolete.

Other programs may write into the output folder, and a user may keep rows or links there. Sparkrank replaces and removes
only its own paths, and refuses a run that would have to write to another path.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import stat
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sparkrank.base.errors import SparkrankError, shorten, writing_errors

RUNS_FOLDER, DAYS_FOLDER = "_runs", "_days"
REPLACED = "_REPLACED"  # the file in a run's folder that lists the earlier runs of the day that are kept
PLAIN = "_PLAIN"  # the file in the folder of a run with ``output.plain`` that lists the files of each table
_DAY = r"\d{4}-\d{2}-\d{2}"
_DAY_NAME, _WINDOW_NAME = re.compile(_DAY), re.compile(rf"{_DAY}\.\.{_DAY}")
_NAME = rf"(?P<name>{_DAY}(\.\.{_DAY})?)"
# The name of a run ends in twelve random hex digits. A run that is being removed has a leading dot in its name.
_RUN = re.compile(rf"\.?{_NAME}\.[0-9a-f]{{12}}")
# Earlier releases used eight letters, digits or underscores, and people may name copies in the same way. A folder with
# such a name therefore counts as a run only if a link or a list names the folder.
_NAMED_RUN = re.compile(rf"{_NAME}\.([0-9a-f]{{12}}|[a-z0-9_]{{8}})")
_TEMPORARY = re.compile(r"(\.[0-9a-f]{12})?")  # what follows a dot and the name of a link in its temporary name
_TABLE = re.compile(r"[a-z][a-z_]*")
_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_MOST_BYTES = 16 << 20  # a larger file is not read as a list
DAY = "day"  # the column by which the tables of days are partitioned


def new_attempt() -> str:
    """Return a unique name for a new run: twelve random hex digits."""
    return uuid.uuid4().hex[:12]


@dataclass(frozen=True)
class OutputFolder:
    """The output folder ``root``, whose tables are partitioned by ``column`` (days or windows of days)."""

    root: Path
    column: str

    def is_name(self, name: str) -> bool:
        """Return whether ``name`` is a valid partition name: a day or a window, depending on ``self.column``."""
        return bool((_DAY_NAME if self.column == DAY else _WINDOW_NAME).fullmatch(name))

    @cached_property
    def runs(self) -> Path:
        return self.root / RUNS_FOLDER

    @cached_property
    def days(self) -> Path:
        return self.root / DAYS_FOLDER

    def lock(self, name: str) -> Path:
        return self.runs / f"{name}.lock"

    def day_link(self, name: str) -> Path:
        """Return the path of the link that points to the folder of the current run of the day ``name``."""
        return self.days / name

    def run_folder(self, name: str, attempt: str) -> Path:
        return self.runs / f"{name}.{attempt}"

    def table_link(self, table: str, name: str) -> Path:
        """Return the path, a link or a folder, under which readers find the rows of the day ``name`` in ``table``."""
        return self.root.joinpath(table, f"{self.column}={name}")

    def table_target(self, table: str, name: str) -> Path:
        """Return the relative path to which the link at :meth:`table_link` points."""
        return Path(f"../{DAYS_FOLDER}/{name}/{table}")

    def validate(self, name: str, tables: Iterable[str] = ()) -> None:
        """Raise :class:`SparkrankError` if a path needed for the day ``name`` exists but does not belong to sparkrank.

        The paths are the link of the day and the day's path in each of ``tables``. The folders that contain these paths
        must not be links.
        """
        for folder in (self.runs, self.days, *(self.root / table for table in tables)):
            if folder.is_symlink():
                raise SparkrankError(
                    f"{shorten(folder)} is a link, which sparkrank does not follow to write: make it a folder, or "
                    f"choose another folder for the tables"
                )
        day = self.day_link(name)
        if _is_there(day) and self.shown(name) is None:
            raise _foreign(day)
        for table in tables:
            link = self.table_link(table, name)
            is_own = self.owns_table_link(link, table, name) or self.owns_plain_folder(link, table, name)
            if _is_there(link) and not is_own:
                raise _foreign(link)

    def owns_table_link(self, link: Path, table: str, name: str) -> bool:
        """Return whether a run made ``link``, the link through which readers find the day ``name`` of ``table``."""
        return _target(link) == f"../{DAYS_FOLDER}/{name}/{table}"

    def owns_plain_folder(self, folder: Path, table: str, name: str) -> bool:
        """Return whether ``folder`` is a real folder with only files that one run of the day ``name`` lists."""
        entries = list(folder.iterdir()) if _is_real(folder) else []
        names = {entry.name for entry in entries}
        if not entries or not all(entry.is_file() and not entry.is_symlink() for entry in entries):
            return False
        return any(names <= self.plain_files(run).get(table, set()) for run in self.runs_of(name))

    def plain_files(self, run: Path) -> dict[str, set[str]]:
        """Return the file names of ``run`` by table if its tables are in real folders, or {} if links lead to them."""
        tables = _listed(run / PLAIN)
        try:
            return {table: set(map(str, files)) for table, files in tables.items() if _TABLE.fullmatch(table)}
        except (TypeError, AttributeError):  # not written by sparkrank
            return {}

    def replaced(self, run: Path | None) -> list[Path]:
        """Return the folders of the earlier runs of the same day that ``run`` keeps, oldest first."""
        names = [] if run is None else _listed(run / REPLACED)
        folders = [self.runs / Path(str(name)).name for name in (names if isinstance(names, list) else ())]
        return [folder for folder in folders if run is not None and self.run_of(folder) == self.run_of(run)]

    def tables_of(self, run: Path) -> dict[str, Path]:
        """Return the existing folder of each table of ``run``, by table name."""
        own = [entry.name for entry in run.iterdir() if _is_real(entry)]
        names = sorted(name for name in {*own, *self.plain_files(run)} if name[0] != ".")
        return {name: folder for name in names if (folder := self.table_folder(run, name)).is_dir()}

    def table_folder(self, run: Path, table: str) -> Path:
        """Return the folder of ``table``, below ``run`` or the real folder that readers open, even if there is none."""
        own, name = run / table, self.run_of(run)
        is_moved = name is not None and not own.is_dir() and table in self.plain_files(run)
        return self.table_link(table, str(name)) if is_moved else own

    def shown(self, name: str) -> Path | None:
        """Return the folder of the run of the day ``name`` that readers see; None if there is no such run."""
        entry = None if self.days.is_symlink() else _run_in(self.day_link(name), name)
        run = None if entry is None else self.runs / entry
        return run if run is not None and self.run_of(run) == name else None

    def run_of(self, folder: Path) -> str | None:
        """Return the day in the name of ``folder``, the folder of a run; None if it is another folder."""
        name = folder.name
        match = _RUN.fullmatch(name) or _NAMED_RUN.fullmatch(name)
        if match is None or not self.is_name(match["name"]):
            return None
        return match["name"] if _is_real(folder) and not self.runs.is_symlink() else None

    def runs_of(self, name: str | None = None) -> list[Path]:
        """Return the folders of all runs of the day ``name`` (None: of all days), sorted by name."""
        return [self.runs / entry for day, entry in self._entries() if name in (None, day)]

    def _entries(self) -> list[tuple[str, str]]:
        """Return the pair of day and folder name for each run, sorted by folder name; lists the folder of runs once."""
        if not _is_real(self.runs):
            return []
        with os.scandir(self.runs) as entries:
            there = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        runs = ((name, _RUN.fullmatch(name)) for name in sorted(there))
        return [(run["name"], name) for name, run in runs if run is not None and self.is_name(run["name"])]

    def names(self) -> list[str]:
        """Return the sorted days that have a link to a current run, a folder of a run, or a lock."""
        days = {day for day, _ in self._entries()}
        for folder, ending in ((self.days, ""), (self.runs, ".lock")):
            if _is_real(folder):
                entries = os.listdir(folder)  # noqa: PTH208 - names alone: each run lists all stored days
                names = (entry.removesuffix(ending) for entry in entries if entry.endswith(ending))
                days.update(name for name in names if self.is_name(name))
        return sorted(days)

    def unsettled(self) -> dict[str, list[Path]]:
        """Return the folders of the runs of each day that may have leftovers. Days and folders are sorted by name.

        A day with one run is left out if all tables of the run are linked.
        """
        # Each run of a backfill asks for all stored days: such a day takes three system calls, and makes no paths.
        runs: dict[str, list[str]] = {name: [] for name in self.names()}
        for name, entry in self._entries():
            runs.setdefault(name, []).append(entry)
        return {
            name: [self.runs / entry for entry in own] for name, own in runs.items() if not self._is_settled(name, own)
        }

    def _is_settled(self, name: str, runs: Sequence[str]) -> bool:
        """Return whether the only one of ``runs`` is the current run of ``name``, and the link made last exists."""
        return (
            len(runs) == 1
            and _target(f"{self.days}/{name}") == f"../{RUNS_FOLDER}/{runs[0]}"
            and _target(f"{self.root}/runs/{self.column}={name}") == f"../{DAYS_FOLDER}/{name}/runs"
            and not os.path.lexists(f"{self.runs}/{runs[0]}/{PLAIN}")
        )

    def links_of(self, name: str) -> Iterator[Path]:
        """Yield the links through which readers find tables of the day ``name``, and links under temporary names."""
        for table in self.tables():
            link = self.table_link(table, name)
            for candidate in (link, *_unfinished(link)):
                if self.owns_table_link(candidate, table, name):
                    yield candidate

    def unfinished_day_links(self, name: str) -> list[Path]:
        """Return the links of the day ``name`` that a killed run left behind under temporary names."""
        if self.days.is_symlink():
            return []
        return [link for link in _unfinished(self.day_link(name)) if _run_in(link, name) is not None]

    def tables(self) -> list[str]:
        """Return the names of the folders that may be tables, including folders of other programs."""
        if not self.root.is_dir():
            return []
        folders = filter(_is_real, sorted(self.root.iterdir()))
        return [folder.name for folder in folders if folder.name not in (RUNS_FOLDER, DAYS_FOLDER)]

    def remove_run(self, folder: Path) -> None:
        """Remove ``folder`` if it is the folder of a run; otherwise, leave the folder unchanged.

        The folder is renamed first, so that readers find either the whole run or a missing folder.
        """
        name = self.run_of(folder)
        with suppress(OSError):
            if name is not None:
                aside = self.runs / f".{name}.{new_attempt()}"
                folder.rename(aside)
                shutil.rmtree(aside, ignore_errors=True)  # does not follow links


def replace_link(link: Path, target: Path) -> None:
    """Point ``link`` to ``target`` in one atomic step. ``link`` must be missing or be a link that sparkrank made."""
    if _target(link) == str(target):
        return
    new = link.with_name(f".{link.name}.{new_attempt()}")
    with writing_errors(f"the link {link}"):
        new.symlink_to(target, target_is_directory=True)
        new.replace(link)


def _unfinished(link: Path) -> list[Path]:
    """Return the existing paths whose names are temporary names for ``link``, including the name of old releases."""
    folder, name = link.parent, f".{link.name}"
    if not _is_real(folder):
        return []
    entries = sorted(entry for entry in os.listdir(folder) if entry.startswith(name))  # noqa: PTH208 - of all days
    return [folder / entry for entry in entries if _TEMPORARY.fullmatch(entry, len(name))]


def _run_in(link: Path, name: str) -> str | None:
    """Return the name of the run of the day ``name`` to whose path ``link`` points, even if the run does not exist."""
    above, _, run = (_target(link) or "").rpartition("/")
    match = _NAMED_RUN.fullmatch(run)
    return run if match is not None and match["name"] == name and above == f"../{RUNS_FOLDER}" else None


def _target(link: Path | str) -> str | None:
    """Return the path to which ``link`` points, or None if ``link`` is missing or is not a link."""
    try:
        return os.readlink(link)  # noqa: PTH115 - without making a path for each stored day
    except OSError as error:
        if error.errno in (errno.EINVAL, *_NOTHING_THERE):
            return None
        raise


def _listed(file: Path) -> Any:
    """Read the JSON list or mapping that a run wrote to ``file``; empty if the file is missing or not valid JSON."""
    status = _status(file)
    if status is None or not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
        return {}
    try:
        return json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        return {}


def _is_real(folder: Path) -> bool:
    status = _status(folder)
    return status is not None and stat.S_ISDIR(status.st_mode)


def _is_there(path: Path) -> bool:
    return _status(path) is not None


def _status(path: Path) -> os.stat_result | None:
    """Return the status of ``path``, which may be a link, or None if nothing exists at ``path``."""
    try:
        return os.lstat(path)
    except OSError as error:
        if error.errno in _NOTHING_THERE:
            return None
        raise


def _foreign(path: Path) -> SparkrankError:
    return SparkrankError(
        f"{shorten(path)} is not a link of sparkrank's, nor a folder with files of one of its runs alone: move it "
        f"away or choose another folder for the tables"
    )
