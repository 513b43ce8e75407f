"""Days whose tables are in real folders, for programs that do not follow links (``output.plain``).

A run writes its tables into its own folder and replaces the link, as every run does. Its tables are then renamed to
where readers look, such as ``metrics/day=2026-11-19``, and the tables of the previous run go back into that run's
folder. The table ``runs`` is removed first and added last: while a day has it, all its tables belong to that run. If a
run is killed in between, the next run of any day completes the moves.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from sparkrank.base.errors import writing_errors
from sparkrank.tables.commit.durable_folders import make_folder, sync_all
from sparkrank.tables.commit.output_folder import OutputFolder, replace_link

_LAST = "runs"


def unpublished(place: OutputFolder, run: Path | None) -> list[str]:
    """The tables of the ``run`` that a day shows that have files and are not yet where readers look."""
    if run is None or not (files := place.plain_files(run)):
        return []
    own = [entry for entry in run.iterdir() if entry.is_dir() and not entry.is_symlink() and any(entry.iterdir())]
    return [entry.name for entry in own if entry.name in files]


def publish(place: OutputFolder, name: str) -> None:
    """Move the tables of the run that the day ``name`` shows to where readers look, if it is a plain run.

    The caller must hold the lock of the day. After a :class:`sparkrank.base.errors.SparkrankError`, another call
    continues where this one stopped.
    """
    run = place.shown(name)
    tables = unpublished(place, run)
    if run is None or not tables:
        return
    place.validate(name, tables)
    others = set(place.tables()) - place.plain_files(run).keys()  # tables of the previous run that this one lacks
    folders = {run}
    for table in sorted({*tables, *others}, key=lambda table: (table != _LAST, table)):
        folders.update(_withdraw(place, table, name))
    for table in sorted(tables, key=lambda table: (table == _LAST, table)):
        goal = place.table_link(table, name)
        make_folder(goal.parent)
        with writing_errors(f"the folder {goal}"):
            (run / table).rename(goal)
        folders.add(goal.parent)
    sync_all(sorted(folder for folder in folders if folder.is_dir()))


def withdraw_all(place: OutputFolder, name: str, attempt: str) -> None:
    """Show the day ``name`` by links instead of real folders. It keeps showing the same run until a commit."""
    folders: set[Path] = set()
    for table in sorted(place.tables(), key=lambda table: (table != _LAST, table)):
        link = place.table_link(table, name)
        if place.owns_plain_folder(link, table, name):
            folders.update(_withdraw(place, table, name))
            replace_link(link, place.table_target(table, name), attempt)
    sync_all(sorted(folders))


def _withdraw(place: OutputFolder, table: str, name: str) -> Iterator[Path]:
    """Unlink the day ``name`` of ``table``, or move its files back to their newest run; yields changed folders."""
    shown = place.table_link(table, name)
    if place.owns_table_link(shown, table, name):
        with writing_errors(f"the link {shown}"):
            shown.unlink()
        yield shown.parent
    elif place.owns_plain_folder(shown, table, name):
        there = {file.name for file in shown.iterdir()}
        runs = reversed(place.runs_of(name))
        own = [run for run in runs if there <= place.plain_files(run).get(table, set()) and not (run / table).exists()]
        with writing_errors(f"the folder {shown}"):
            if own:
                shown.rename(own[0] / table)
                yield own[0]
            else:
                aside = place.runs_of(name)[-1] / f".{table}"  # renamed first, so that readers never see part of it
                shutil.rmtree(aside, ignore_errors=True)
                shown.rename(aside)
                shutil.rmtree(aside)
        yield shown.parent
