"""Days with tables in real folders, for programs that do not follow links (``output.plain``).

Like every run, a run with ``plain`` first writes its tables into its own folder and replaces the link of the day. The
tables of the previous run are then moved back into that run's folder, and the new tables are renamed to the readers'
paths, such as ``metrics/day=2026-11-19``. A later run without ``plain`` replaces the folders with links in the same
way. The table ``runs`` is removed first and added last: as long as readers find ``runs``, all tables of the day belong
to one run. If a run is killed between these steps, the next run of any day completes the moves.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from sparkrank.base.errors import SparkrankError, shorten, writing_errors
from sparkrank.tables.commit.durable_folders import make_folder, sync_all
from sparkrank.tables.commit.output_folder import OutputFolder, replace_link

_LAST = "runs"


def unpublished(place: OutputFolder, run: Path | None) -> list[str]:
    """Return the names of the tables of ``run``, the day's current run, that readers of the day cannot find yet."""
    if run is None:
        return []
    files, name = place.plain_files(run), str(place.run_of(run))
    if not files and place.owns_table_link(place.table_link(_LAST, name), _LAST, name):  # that link is made last
        return []
    own = [entry.name for entry in run.iterdir() if entry.is_dir() and not entry.is_symlink() and any(entry.iterdir())]
    return [name for name in own if name in files] if files else own * (_LAST in own)


def publish(place: OutputFolder, name: str) -> None:
    """Make the real folders or the links from which readers of the day ``name`` read the tables of its current run.

    The caller must hold the lock of the day. If a call raises :class:`SparkrankError`, the next call continues where
    the failed call stopped.
    """
    run = place.shown(name)
    tables = unpublished(place, run)
    if run is None or not tables:
        return
    place.validate(name, tables)
    is_plain, folders = bool(place.plain_files(run)), {run}
    others = set(place.tables()) - {*place.plain_files(run), *tables}  # tables of the previous run that this one lacks
    for table in sorted({*tables, *others}, key=lambda table: (table != _LAST, table)):
        folders.update(_withdraw(place, table, name))
    for table in sorted(tables, key=lambda table: (table == _LAST, table)):
        goal = place.table_link(table, name)
        make_folder(goal.parent)
        if is_plain:
            with writing_errors(f"the folder {goal}"):
                (run / table).rename(goal)
        else:
            replace_link(goal, place.table_target(table, name))
        folders.add(goal.parent)
    sync_all(sorted(folder for folder in folders if folder.is_dir()))


def validate_moves(place: OutputFolder, name: str, tables: Iterable[str]) -> None:
    """Raise :class:`SparkrankError` if the user may not move the folders of the day ``name`` in one of ``tables``.

    Permissions are checked before the commit, because no run should fail after the commit.
    """
    for table in tables:
        shown = place.table_link(table, name)
        is_plain = place.owns_plain_folder(shown, table, name)
        for folder in (shown.parent, *((shown, place.shown(name)) if is_plain else ())):
            if folder is not None and folder.exists() and not (_may_write(folder) and _may_move(shown)):
                raise SparkrankError(
                    f"output.plain moves folders in {shorten(folder)}, which this account may not: let it write there, "
                    f"or choose another folder for the tables"
                )


def _may_write(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def _may_move(path: Path) -> bool:
    """Return whether the user may move ``path``. A sticky bit on the parent folder can forbid moving the path."""
    above = path.parent.stat()
    is_sticky = above.st_mode & stat.S_ISVTX and os.path.lexists(path)
    return not is_sticky or os.geteuid() in (0, above.st_uid, path.lstat().st_uid)


def _withdraw(place: OutputFolder, table: str, name: str) -> Iterator[Path]:
    """Remove the link of the day ``name`` in ``table``, or move its folder back to its run; yields changed folders."""
    shown = place.table_link(table, name)
    if place.owns_table_link(shown, table, name):
        with writing_errors(f"the link {shown}"):
            shown.unlink()
        yield shown.parent
    elif place.owns_plain_folder(shown, table, name):
        there = {file.name for file in shown.iterdir()}
        runs = [run for run in place.runs_of(name) if run.name[0] != "."]
        own = [run for run in runs if there <= place.plain_files(run).get(table, set()) and not (run / table).exists()]
        with writing_errors(f"the folder {shown}"):
            if own:
                shown.rename(own[0] / table)
                yield own[0]
            else:
                aside = runs[-1] / f".{table}"  # renamed first, so that readers never see part of it
                shutil.rmtree(aside, ignore_errors=True)
                shown.rename(aside)
                shutil.rmtree(aside)
        yield shown.parent
